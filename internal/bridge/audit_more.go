package bridge

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"fleet/api"
)

// more reports lines beyond the last one that is vouched for: a bridge that runs knows what it
// wrote, and one that came to its end has written none after it.
func (d *desk) more(report *api.AuditReport, head auditHead) {
	final := head.Final
	if d.audit != nil {
		head, final = d.audit.at(), true
	}
	added := report.Lines - int(head.Seq)
	if d.endsInHalf() {
		added-- // that has its note
	}
	switch {
	case head.Seq == 0 && d.audit == nil || added <= 0:
	case final:
		report.Faults = append(report.Faults, api.AuditFault{
			Line: int(head.Seq) + 1, What: fmt.Sprintf("is the first of %d that the bridge did not write", added),
		})
	default:
		report.Notes = append(report.Notes, fmt.Sprintf("line %d is the first of %d that are not vouched for: a crash leaves a few such lines, and somebody else may write them", head.Seq+1, added))
	}
}

// endsInHalf says that the audit's last line has no end, as a crash leaves it.
func (d *desk) endsInHalf() bool {
	f, err := openPrivate(filepath.Join(d.dir, auditFile), os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	last := []byte{'\n'}
	if size, err := f.Seek(0, io.SeekEnd); err == nil && size > 0 {
		_, _ = f.ReadAt(last, size-1)
	}
	return last[0] != '\n'
}
