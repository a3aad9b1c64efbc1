package bridge

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"

	"fleet/api"
)

// maxSigned is how many secrets a Guard remembers to have signed with: an app's token lasts an
// hour, and what a forge shows of one comes within that.
const maxSigned = 8

// signedWith are the secrets that a Guard signed with of late, in the forms in which a forge may
// show them. It is safe for concurrent use.
type signedWith struct {
	mu sync.RWMutex
	// A function for what Secret says: nothing that prints a Guard can look into it. Newest last,
	// the secret itself first of its forms; nil where there is none.
	forms func() [][]string
}

// add remembers the secret. One that is too short to tell it from other text is not.
func (s *signedWith) add(secret Secret) {
	text := string(bareSecret(secret))
	if len(text) < shortestMasked {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var all [][]string
	if s.forms != nil {
		all = s.forms()
	}
	if n := len(all); n > 0 && all[n-1][0] == text {
		return
	}
	all = slices.DeleteFunc(slices.Clone(all), func(forms []string) bool { return forms[0] == text })
	all = append(all, []string{text, hex.EncodeToString([]byte(text)), base64.RawStdEncoding.EncodeToString([]byte(text))})
	all = all[max(0, len(all)-maxSigned):]
	s.forms = func() [][]string { return all }
}

// all gives the forms of all of them.
func (s *signedWith) all() [][]string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.forms == nil {
		return nil
	}
	return s.forms()
}

// Mask takes from text, as it reads once it is decoded, every credential that the Guard has signed
// with of late: what it masks in an answer's bytes, a forge could have escaped there. Characters
// that nobody sees don't hide a credential.
func (g *Guard) Mask(text string) string {
	if len(text) < shortestMasked {
		return text
	}
	all := g.signed.all()
	for _, forms := range all {
		for _, form := range forms {
			text = strings.ReplaceAll(text, form, redacted)
		}
	}
	f, differs := fold(text)
	if !differs {
		return text
	}
	for _, forms := range all {
		for _, form := range forms {
			if strings.Contains(f.text, form) {
				text = maskFolded(text, f, form)
				f, _ = fold(text)
			}
		}
	}
	return text
}

// maskFolded masks form where f, which is text folded, has it.
func maskFolded(text string, f folded, form string) string {
	var b strings.Builder
	last, from := 0, 0
	for {
		i := strings.Index(f.text[from:], form)
		if i < 0 {
			return b.String() + text[last:]
		}
		at := f.span(from+i, from+i+len(form))
		b.WriteString(text[last:at[0]] + redacted)
		last, from = at[1], from+i+len(form)
	}
}

// maskTexts masks every text of what a provider answered, in place.
func (g *Guard) maskTexts(v any) { eachText(reflect.ValueOf(v), g.Mask) }

// maskError masks the texts of an error, its causes' too. One that shows nothing stays as it is.
func (g *Guard) maskError(err error) error {
	if err == nil || !g.shownBy(err) {
		return err
	}
	var e *api.Error
	if !errors.As(err, &e) {
		return maskedError{g.Mask(err.Error()), func(target error) bool { return errors.Is(err, target) }}
	}
	clean := *e
	clean.Message, clean.Hint, clean.Reason = g.Mask(e.Message), g.Mask(e.Hint), g.Mask(e.Reason)
	clean.Err = g.maskError(e.Err)
	return &clean
}

// shownBy says that err, or what it wraps, shows a secret.
func (g *Guard) shownBy(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		text := err.Error()
		var e *api.Error
		if errors.As(err, &e) {
			text += "\n" + e.Message + "\n" + e.Hint + "\n" + e.Reason
		}
		if g.Mask(text) != text {
			return true
		}
	}
	return false
}

// maskedError is another one without the secret in its text. It is what that one was, and can't be
// unwrapped.
type maskedError struct {
	text string
	is   func(target error) bool
}

func (e maskedError) Error() string { return e.text }

func (e maskedError) Is(target error) bool { return e.is(target) }
