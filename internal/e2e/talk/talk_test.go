package talk

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestATalkIsReadMessageByMessage(t *testing.T) {
	got, err := read([]byte(`{"method":"POST","path":"/p","header":{"A":"b"},"body":"{\"id\":1}"}` + "\n" + `{"body":"` + strings.Repeat("x", 1<<17) + `"}` + "\n"))
	if err != nil || len(got) != 2 || got[0].Method != "POST" || got[0].Path != "/p" || got[0].Header["A"] != "b" || got[0].Body != `{"id":1}` || got[1].Method != "" || len(got[1].Body) != 1<<17 {
		t.Errorf("read = %.200v, %v; want both messages whole", got, err)
	}
	for what, raw := range map[string]string{"no JSON": "{}\nx", "too long a line": `{"body":"` + strings.Repeat("x", 1<<20) + `"}`} {
		if got, err := read([]byte(raw)); err == nil {
			t.Errorf("read of %s = %.200v, want an error", what, got)
		}
	}
}

func TestWordsMayBeReadWhileTheyAreSaid(t *testing.T) {
	var w Words
	var speakers sync.WaitGroup
	for range 4 {
		speakers.Go(func() {
			for range 100 {
				fmt.Fprint(&w, "word ")
				if !strings.HasPrefix(w.String(), "word ") {
					t.Error("String() does not begin with what was said first")
				}
			}
		})
	}
	speakers.Wait()
	if got, want := w.String(), strings.Repeat("word ", 400); got != want {
		t.Errorf("String() = %d bytes, want all %d", len(got), len(want))
	}
	w.Forget()
	if got := w.String(); got != "" {
		t.Errorf("after Forget String() = %q", got)
	}
}
