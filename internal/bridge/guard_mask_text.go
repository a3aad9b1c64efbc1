package bridge

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"fleet/api"
)

const (
	// maxSigned is how many secrets are remembered to have been signed with.
	maxSigned = 32
	// signedLife is for how long one is: an app's token lasts an hour, and what a forge shows of one
	// comes within that.
	signedLife = 2 * time.Hour
)

// signedWith are the secrets that Guards signed with of late, and those that they could sign with,
// in the forms in which a forge may show them. It is safe for concurrent use.
type signedWith struct {
	mu sync.RWMutex
	// Functions for what Secret says: nothing that prints a Guard can look into them. Used last, last.
	secrets func() []knownSecret
	parts   func() *parts
}

type knownSecret struct {
	forms []string // the secret itself first
	used  time.Time
}

// add remembers the secret. One that is too short to tell it from other text is not.
func (s *signedWith) add(secret Secret) {
	text := string(bareSecret(secret))
	if len(text) < shortestMasked {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []knownSecret
	if s.secrets != nil {
		all = s.secrets()
	}
	now := time.Now()
	if n := len(all); n > 0 && all[n-1].forms[0] == text && now.Sub(all[n-1].used) < time.Minute {
		return
	}
	one := knownSecret{used: now}
	all = slices.DeleteFunc(slices.Clone(all), func(k knownSecret) bool {
		if k.forms[0] == text {
			one.forms = k.forms
		}
		return k.forms[0] == text || now.Sub(k.used) > signedLife
	})
	known := one.forms != nil
	if !known {
		one.forms = formsOf(text)
	}
	all = append(all, one)
	all = all[max(0, len(all)-maxSigned):]
	s.secrets = func() []knownSecret { return all }
	if !known { // until then, those of a secret that was forgotten do no harm
		p := newParts(all)
		s.parts = func() *parts { return p }
	}
}

// formsOf gives the spellings of a secret that logs and answers show: itself, in hexadecimal, and
// in base64. There the same bytes look different by where they stand in a group of three, and those
// that share a group with what stands around are left out.
func formsOf(text string) []string {
	forms := []string{text, hex.EncodeToString([]byte(text))}
	for shift := range 3 {
		padded := append(make([]byte, shift), text...)
		from, to := (shift*8+5)/6, len(padded)*8/6
		for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if form := alphabet.EncodeToString(padded)[from:to]; !slices.Contains(forms, form) {
				forms = append(forms, form)
			}
		}
	}
	return forms
}

// all gives the forms of all of them, and their parts.
func (s *signedWith) all() ([][]string, *parts) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.secrets == nil {
		return nil, nil
	}
	var all [][]string
	for _, known := range s.secrets() {
		all = append(all, known.forms)
	}
	return all, s.parts()
}

// Mask takes from text, as it reads once it is decoded, every credential that the Guard has signed
// with of late, or that its broker knows: in an answer's bytes, a forge may have escaped it.
// Characters that nobody sees don't hide a credential, and neither do ends of lines in its base64
// or hexadecimal form. It makes no text longer than nine quarters of what it was.
func (g *Guard) Mask(text string) string { return g.signed.mask(text) }

func (s *signedWith) mask(text string) string {
	if len(text) < shortestMasked {
		return text
	}
	all, parts := s.all()
	for _, forms := range all {
		for _, form := range forms {
			text = strings.ReplaceAll(text, form, redacted)
		}
	}
	text = replaceSpans(text, parts.find(text), redacted)
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
	return replaceSpans(text, f.spans(parts.find(f.text)), redacted)
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
