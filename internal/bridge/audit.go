package bridge

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	auditFile = "audit.jsonl"
	// maxAuditLine is far above what a line can come to.
	maxAuditLine = 64 << 10
)

// Events of the audit.
const (
	auditWrite     = "write"     // about to be sent
	auditDone      = "done"      // the forge has it
	auditFailed    = "failed"    // for certain
	auditUnknown   = "unknown"   // sent, and not found
	auditFound     = "found"     // the outcome was lost, and it is there
	auditDuplicate = "duplicate" // answered with an earlier one's outcome
	auditRefused   = "refused"   // by the bridge itself
	auditGrant     = "grant"
	auditRevoke    = "revoke"
	auditResumed   = "resumed" // the line before is half a line, from a crash
	auditBroken    = "broken"  // what stands before is not what was written
)

// auditLine says who did what. It holds no text, no header and no secret. Seq counts lines from 1;
// Prev is the SHA-256 of the line before, without its end of line, and of nothing for the first.
type auditLine struct {
	Seq        int64     `json:"seq"`
	Prev       string    `json:"prev"`
	Time       time.Time `json:"time"`
	Event      string    `json:"event"`
	RequestID  string    `json:"request_id,omitempty"`
	Ship       string    `json:"ship,omitempty"`
	Workspace  string    `json:"workspace,omitempty"`
	Repo       string    `json:"repo,omitempty"`
	Op         string    `json:"op,omitempty"`
	Number     int       `json:"number,omitempty"`
	Review     string    `json:"review,omitempty"` // APPROVE, REQUEST_CHANGES or COMMENT
	Verbs      []string  `json:"verbs,omitempty"`
	BodySHA256 string    `json:"body_sha256,omitempty"`
	BodyBytes  int       `json:"body_bytes,omitempty"`
	KeySHA256  string    `json:"key_sha256,omitempty"`
	Credential string    `json:"credential,omitempty"` // its id
	Code       string    `json:"code,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	URL        string    `json:"url,omitempty"` // of what was written
}

// auditHead is a line of the audit that the store vouches for: so the last lines can't be taken
// away, or changed, unseen.
type auditHead struct {
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"`
	// Final: the bridge ended after this line, so that there can't be another one.
	Final bool `json:"final,omitempty"`
}

// auditBreak is when a bridge found, as it started, that the audit was not what had been written.
type auditBreak struct {
	Line  int64     `json:"line"`            // that was vouched for
	Fresh bool      `json:"fresh,omitempty"` // nothing vouched for any line: the database was a new one
	Added int64     `json:"added,omitempty"` // so many lines from Line on were not vouched for; else Line was not there
	Final bool      `json:"final,omitempty"` // and the bridge before had ended, so that it did not write them
	At    time.Time `json:"at"`
}

// auditLog appends to audit.jsonl. It is safe for concurrent use.
type auditLog struct {
	// Found by openAudit: that the audit is another one, and that it has more lines.
	broke, added *auditBreak

	mu   sync.Mutex
	file *os.File
	size int64
	head auditHead
	err  error // set once the file is in a state that nothing may be added to
}

// openAudit opens or makes the file, 0600, in dir, and goes on after its last line. Half a line, as
// a crash leaves it, stays and is said to be one. A line that isn't what was vouched for is said to
// be none, since what is vouched for moves on.
func openAudit(dir string, vouched auditHead) (*auditLog, error) {
	f, err := openPrivate(filepath.Join(dir, auditFile), os.O_RDWR|os.O_CREATE|syscall.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the audit: %w", err)
	}
	l := &auditLog{file: f}
	err = l.resume(vouched)
	if err == nil && l.broke != nil {
		_, err = l.append(auditLine{Event: auditBroken})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the audit: %w", err), f.Close())
	}
	return l, nil
}

// resume finds the last line. Only verifyAudit reads the whole file with care; this counts lines.
func (l *auditLog) resume(vouched auditHead) error {
	last, half, err := l.scan(vouched)
	if err != nil || l.head.Seq == 0 {
		return err
	}
	l.head.Hash = hashLine(last)
	if !half {
		return nil
	}
	if _, err := l.file.Write([]byte("\n")); err != nil {
		return fmt.Errorf("end half a line: %w", err)
	}
	l.size++
	_, err = l.append(auditLine{Event: auditResumed})
	return err
}

// scan counts lines, and gives the last one and whether its end is missing.
func (l *auditLog) scan(vouched auditHead) (last []byte, half bool, err error) {
	there := vouched.Seq == 0
	r := newLineReader(l.file)
	for {
		line, whole, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, false, err
		}
		l.head.Seq++
		if l.head.Seq == vouched.Seq {
			there = hashLine(line) == vouched.Hash
		}
		last, half = append(last[:0], line...), !whole
	}
	now, added := time.Now().UTC(), l.head.Seq-vouched.Seq
	if half {
		added-- // it is said to be one by the line after it
	}
	if !there {
		l.broke = &auditBreak{Line: vouched.Seq, At: now}
	} else if vouched.Seq > 0 && added > 0 {
		l.added = &auditBreak{Line: vouched.Seq + 1, Added: added, Final: vouched.Final, At: now}
	}
	l.size, err = l.file.Seek(0, io.SeekEnd)
	return last, half, err
}

// append writes one line, to the disk, and gives where the chain then ends. A line that could be
// written in part only is taken back.
func (l *auditLog) append(line auditLine) (auditHead, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.head, l.err
	}
	line.Seq, line.Prev, line.Time = l.head.Seq+1, l.head.Hash, time.Now().UTC()
	raw, err := json.Marshal(line)
	if err != nil {
		return l.head, err
	}
	if len(raw) >= maxAuditLine { // it could not be read again
		return l.head, errors.New("a line is too long for the audit")
	}
	if err := l.here(); err != nil {
		return l.head, err
	}
	_, err = l.file.Write(append(raw, '\n'))
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		if undo := l.file.Truncate(l.size); undo != nil {
			l.err = fmt.Errorf("the audit ends in half a line: %w", undo)
		}
		return l.head, fmt.Errorf("write the audit: %w", err)
	}
	l.size += int64(len(raw)) + 1
	l.head = auditHead{Seq: line.Seq, Hash: hashLine(raw)}
	return l.head, nil
}

// at is where the chain ends.
func (l *auditLog) at() auditHead {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head
}

func (l *auditLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = os.ErrClosed
	return l.file.Close()
}

func hashLine(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}
