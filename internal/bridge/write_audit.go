package bridge

import (
	"errors"

	"fleet/api"
)

// auditLine is the line about i, before anything is known of its outcome.
func (i *intent) auditLine(event string) auditLine {
	return auditLine{
		Event: event, RequestID: i.RequestID, Ship: i.Ship, Workspace: atMost(i.Workspace), Repo: atMost(i.Repo), Op: i.Op,
		Number: i.Write.Number, Review: atMost(i.Write.Event), BodySHA256: i.BodySHA256, BodyBytes: len(i.Write.Body),
		KeySHA256: i.KeyHash, Credential: i.Credential,
	}
}

// atMost cuts what a ship gave before it was checked: a refusal of it still has its line.
func atMost(s string) string { return s[:min(len(s), maxName)] }

// outcomeLine says what became of it.
func (i *intent) outcomeLine() auditLine {
	line := i.auditLine(map[string]string{
		intentDone: auditDone, intentFailed: auditFailed, intentUnknown: auditUnknown, intentStarted: auditUnknown,
	}[i.State])
	if i.Written != nil {
		line.URL = i.Written.URL
	}
	if i.Error != nil {
		line.Code, line.Reason = string(i.Error.Code), i.Error.Reason
	}
	return line
}

// foundLine says that it was looked for and is there.
func (i *intent) foundLine() auditLine {
	line := i.auditLine(auditFound)
	line.URL = i.Written.URL
	return line
}

// refused puts a refusal of a write into the audit, where it is known who asked, and gives err
// back. Nothing depends on it: what isn't done needs no line.
func (b *Broker) refused(c *order, err error) error {
	var e *api.Error
	if !errors.As(err, &e) || !c.writes() || c.grant.Ship == "" {
		return err
	}
	line := c.intent().auditLine(auditRefused)
	line.Code, line.Reason = string(e.Code), e.Reason
	if err := b.desk.add(line); err != nil {
		b.log.Error("a refusal isn't in the audit", "request", c.id, "cause", err.Error())
	}
	return err
}

// add writes a line that belongs to no change in the store, and vouches for it.
func (d *desk) add(line auditLine) error {
	head, err := d.audit.append(line)
	if err != nil {
		return err
	}
	return d.store.advance(head)
}
