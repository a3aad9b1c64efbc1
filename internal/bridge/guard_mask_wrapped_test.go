package bridge

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// wrap breaks text after so many characters, and puts before on each line.
func wrap(text string, columns int, before func(line int) string, end string) string {
	var b strings.Builder
	line := 0
	for part := range slices.Chunk([]byte(text), columns) {
		b.WriteString(before(line) + string(part) + end)
		line++
	}
	return b.String()
}

func plainly(text string) func(int) string { return func(int) string { return text } }

// shows gives what text shows of a secret's encoded forms: six characters of base64 in a row, twelve
// of hexadecimal.
func shows(text, secret string) string {
	for i, form := range formsOf(secret)[1:] {
		n := edgeSize
		if i == 0 {
			n = partSize
		}
		for at := 0; at+n <= len(form); at++ {
			if strings.Contains(text, form[at:at+n]) {
				return form[at : at+n]
			}
		}
	}
	return ""
}

// wrappings are ways in which programs print base64.
func wrappings() map[string]func(text string) string {
	return map[string]func(string) string{
		"76 columns":                  func(s string) string { return wrap(s, 76, plainly(""), "\n") },
		"76 columns, carriage return": func(s string) string { return wrap(s, 76, plainly(""), "\r\n") },
		"64 columns, in YAML":         func(s string) string { return "data: |\n" + wrap(s, 64, plainly("    "), "\n") },
		"60 columns, tabs and blanks": func(s string) string { return wrap(s, 60, plainly("\t "), "  \n") },
		"76 columns in a log": func(s string) string {
			return wrap(s, 76, func(n int) string { return fmt.Sprintf("2026-11-30T12:00:%02d.1234567Z ", n) }, "\r\n")
		},
		"64 columns in a build": func(s string) string {
			return wrap(s, 64, func(n int) string { return fmt.Sprintf("#12 0.%d ", 345+n) }, "\n")
		},
		"64 columns, quoted":     func(s string) string { return wrap(s, 64, plainly("> "), "\n") },
		"70 columns in a diff":   func(s string) string { return wrap(s, 70, plainly("+"), "\n") },
		"as lines of a program":  func(s string) string { return wrap(s, 40, plainly(`  "`), "\" +\n") },
		"twelve columns":         func(s string) string { return wrap(s, 12, plainly(""), "\n") },
		"in zero-width disguise": func(s string) string { return wrap(s, 76, plainly("\u200b"), "\u200b\n") },
		"on one line":            func(s string) string { return s },
	}
}

func TestASecretInBase64ThatIsWrappedOverLinesIsMasked(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{
		"a token": fakeToken, "a long one": "ghs_" + strings.Repeat("aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0z", 17)[:516], "one of a shape that nobody knows": "corp-0123456789-abcdef",
	}
	codings := map[string]func(string) string{
		"base64":               func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"base64 for addresses": func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) },
		"hexadecimal":          func(s string) string { return hex.EncodeToString([]byte(s)) },
	}
	for kind, secret := range secrets {
		g := signedGuard("another-secret-0123456789", secret)
		for coding, encode := range codings {
			for how, wrapped := range wrappings() {
				t.Run(kind+" in "+coding+", "+how, func(t *testing.T) {
					for lead := 0; lead < 60; lead += 2 { // wherever on a line it begins
						text := wrapped(encode(strings.Repeat("~", lead) + secret + strings.Repeat("~", 90)))
						clean := g.Mask(text)
						if seen, _ := fold(clean); shows(clean+seen.text, secret) != "" {
							t.Fatalf("behind %d characters it shows %q:\n%s", lead, shows(clean+seen.text, secret), clean)
						}
						if strings.Count(clean, "\n") != strings.Count(text, "\n") {
							t.Fatalf("lines are gone:\n%s", clean)
						}
						// As a log is read: line by line.
						var lines []string
						for line := range strings.SplitSeq(text, "\n") {
							lines = append(lines, g.Mask(line))
						}
						if each := strings.Join(lines, "\n"); shows(each, secret) != "" {
							t.Fatalf("line by line, behind %d characters it shows %q:\n%s", lead, shows(each, secret), each)
						}
					}
				})
			}
		}
	}
}

func TestTextThatIsNoSecretStaysAsItIs(t *testing.T) {
	g := signedGuard(fakeToken)
	for name, text := range map[string]string{
		"another text in base64": wrap(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("nothing to hide here, ", 40))), 76, plainly(""), "\n"),
		"commits and paths":      "commit " + strings.Repeat("1a2b3c4d5e", 4) + " in acme/widgets/src/thisIsTheForge/tokens_of_these.go:12",
		"a part of it as words":  "thisIsTheForge, TokenOfTheseTests",
		"Greek":                  "καλημέρα κόσμε\n" + strings.Repeat("λ", 100),
	} {
		if got := g.Mask(text); got != text {
			t.Errorf("%s became %q", name, got)
		}
	}
}

// The bound: a replacement takes six characters or more, and a character of three bytes stands for
// four at most.
func TestMaskingNeverPanicsNorGrowsBeyondItsBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	secret := "corp-VIII-0123456789-VIII"
	g := signedGuard(secret, fakeToken)
	pieces := []string{"\n", "\r\n", " ", "=", "+", "/", "\u200b", "\xff", "é", "Ⅷ", "２", "a", redacted, "\x00"}
	for _, form := range append(formsOf(secret), formsOf(fakeToken)...) {
		pieces = append(pieces, form, form[:edgeSize], form[len(form)-edgeSize:], form[3:15], form[1:])
	}
	for range 20_000 {
		var b strings.Builder
		for range rng.IntN(12) {
			one := pieces[rng.IntN(len(pieces))]
			from := rng.IntN(len(one))
			b.WriteString(one[from : from+1+rng.IntN(len(one)-from)])
		}
		text := b.String()
		got := g.Mask(text)
		bound := len(text) * 9 / 4
		if _, differs := fold(text); !differs {
			bound = len(text) * 5 / 3
		}
		if len(got) > bound || utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Fatalf("Mask(%q) = %q: %d bytes of %d, want %d at most", text, got, len(got), len(text), bound)
		}
		if seen, differs := fold(got); strings.Contains(got, secret) || differs && strings.Contains(seen.text, secret) {
			t.Fatalf("Mask(%q) = %q", text, got)
		}
	}
}

func BenchmarkMask(b *testing.B) {
	long := "ghs_" + strings.Repeat("aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0z", 17)[:516]
	many := &Guard{signed: &signedWith{}}
	for i := range maxSigned {
		many.signed.add(NewSecret(fmt.Sprintf("%s%d", long[:515], i)))
	}
	encoded := make([]byte, 48<<10)
	for i := range encoded {
		encoded[i] = byte(i * i >> 3)
	}
	for name, text := range map[string]string{
		"prose":  strings.Repeat("the quick brown fox jumps over the lazy dog at https://example.com/acme/widgets/pull/7\n", 740),
		"base64": wrap(base64.StdEncoding.EncodeToString(encoded), 76, plainly(""), "\n"),
	} {
		for kind, g := range map[string]*Guard{"two tokens": signedGuard(fakeToken, long), "32 long tokens": many} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					g.Mask(text)
				}
			})
		}
	}
}
