package bridge

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"fleet/api"
)

// maxAuditFaults ends a report that goes nowhere, such as of a file that isn't an audit.
const maxAuditFaults = 100

// lineReader gives lines without their end, however long the file is.
type lineReader struct{ r *bufio.Reader }

func newLineReader(r io.Reader) lineReader { return lineReader{bufio.NewReaderSize(r, maxAuditLine)} }

// next gives a line and whether it has its end. The line is good until the next call.
func (l lineReader) next() (line []byte, whole bool, err error) {
	line, err = l.r.ReadSlice('\n')
	switch {
	case err == nil:
		return line[:len(line)-1], true, nil
	case errors.Is(err, io.EOF) && len(line) > 0:
		return line, false, nil
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, false, errors.New("a line is longer than any of the audit's")
	}
	return nil, false, err
}

// verifier goes along the chain.
type verifier struct {
	report  api.AuditReport
	vouched auditHead
	line    int    // of the file, from 1
	seq     int64  // of the last line that could be read
	hash    string // of the last line's bytes
	broken  int    // number of a line that is half, and not yet said to be
	denied  bool   // the line that is vouched for is another one
}

// verifyAudit reads a whole audit and says where it isn't what was written: a line altered,
// removed or inserted, or lines missing at the end of what vouched is for. The zero vouched
// vouches for nothing, and the end is not checked then.
func verifyAudit(file io.Reader, vouched auditHead) (api.AuditReport, error) {
	v := verifier{vouched: vouched, report: api.AuditReport{Faults: []api.AuditFault{}}}
	r := newLineReader(file)
	for len(v.report.Faults) < maxAuditFaults {
		line, whole, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return v.report, fmt.Errorf("line %d of the audit: %w", v.line+1, err)
		}
		v.take(line, whole)
	}
	v.end()
	v.report.Lines = v.line
	return v.report, nil
}

func (v *verifier) take(raw []byte, whole bool) {
	v.line++
	hash := hashLine(raw)
	if v.vouched.Seq == int64(v.line) {
		v.denied = v.vouched.Hash != hash
	}
	line, err := decodeAudit(raw)
	switch {
	case err != nil && !whole:
		v.report.Notes = append(v.report.Notes, fmt.Sprintf("line %d is half a line: the bridge ended while it wrote it", v.line))
	case err != nil:
		v.broken = v.line
		v.seq++
	default:
		v.link(line)
		v.seq = line.Seq
	}
	v.hash = hash
}

// link holds a line to the one before.
func (v *verifier) link(line auditLine) {
	linked := line.Prev == v.hash
	afterBroken := v.broken > 0
	if v.broken > 0 {
		if line.Event == auditResumed && linked && v.broken == v.line-1 {
			v.report.Notes = append(v.report.Notes, fmt.Sprintf("line %d is half a line, from a crash before %s", v.broken, line.Time.Format("2006-01-02T15:04:05Z")))
		} else {
			v.faultAt(v.broken, "was altered: it cannot be read")
		}
		v.broken = 0
	}
	switch want := v.seq + 1; {
	case line.Seq > want:
		v.fault(fmt.Sprintf("follows a gap: lines numbered %d to %d were removed", want, line.Seq-1))
	case line.Seq < want:
		v.fault(fmt.Sprintf("is numbered %d where %d comes next: it, or the line before it, was inserted or moved", line.Seq, want))
	case !linked && v.line == 1:
		v.fault("does not begin a chain")
	case !linked && !afterBroken: // a line that cannot be read has been named already
		v.faultAt(v.line-1, "was altered: the line after it was written after another one")
	}
}

func (v *verifier) end() {
	if v.broken > 0 {
		v.faultAt(v.broken, "was altered: it cannot be read")
	}
	switch {
	case v.vouched.Seq == 0:
		v.report.Notes = append(v.report.Notes, "nothing vouches for the last line: it may have been altered, and lines after it removed")
	case v.vouched.Seq > int64(v.line):
		v.faultAt(v.line+1, fmt.Sprintf("is missing: the audit had %d lines", v.vouched.Seq))
	case v.denied && len(v.report.Faults) == 0:
		v.faultAt(int(v.vouched.Seq), "was altered: it is not the line that bridge.db vouches for")
	}
}

func (v *verifier) fault(what string) { v.faultAt(v.line, what) }

func (v *verifier) faultAt(line int, what string) {
	v.report.Faults = append(v.report.Faults, api.AuditFault{Line: line, What: what})
}

func decodeAudit(raw []byte) (auditLine, error) {
	var line auditLine
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&line); err != nil {
		return line, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) || line.Seq < 1 || line.Event == "" {
		return line, errors.New("not a line of the audit")
	}
	return line, nil
}

func verifyAuditFile(dir string, vouched auditHead) (api.AuditReport, error) {
	f, err := openPrivate(filepath.Join(dir, auditFile), os.O_RDONLY, 0)
	if err != nil {
		return api.AuditReport{}, fmt.Errorf("read the audit: %w", err)
	}
	defer f.Close()
	return verifyAudit(f, vouched)
}
