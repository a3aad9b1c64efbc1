package bridgetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"fleet/api"
	"fleet/internal/bridge"
)

// TestABridgeKilledUnderCallsLeavesOpenOnlyWhatWasUnderWay kills a bridge, a process of its own, again
// and again, and starts it anew, while a ship reads and comments.
func TestABridgeKilledUnderCallsLeavesOpenOnlyWhatWasUnderWay(t *testing.T) {
	const callers, kills = 8, 3
	t.Parallel()
	s := newScene(t)
	i := s.repo.Issue("busy")
	k := newKilled(s)
	k.start()
	ctx, end := context.WithCancel(t.Context())
	var work sync.WaitGroup
	for who := range callers {
		work.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				k.call(i.Number(), fmt.Sprintf("comment %d of caller %d", n, who))
			}
		})
	}
	for range kills {
		k.awaitMore(40)
		k.kill()
		k.start()
	}
	end()
	work.Wait()
	if len(k.faults) > 0 || len(k.open) > callers*kills {
		t.Errorf("%d calls; %d comments are open after %d kills; failed: %v", k.calls, len(k.open), kills, k.faults)
	}
	k.resolve(i.Number(), i.Texts)
	posted := i.Texts()
	for _, body := range k.posted {
		if n := count(posted, body); n != 1 {
			t.Errorf("%q was said to be posted, and is there %d times", body, n)
		}
	}
}

func count(all []string, one string) (n int) {
	for _, each := range all {
		if each == one {
			n++
		}
	}
	return n
}

// killed is a bridge that is killed, and a ship's way to it.
type killed struct {
	*scene
	child   string
	program *exec.Cmd
	client  *bridge.Client

	mu     sync.Mutex
	calls  int
	posted []string       // comments that were said to be posted
	open   []string       // comments of unknown outcome
	faults map[string]int // other errors
}

func newKilled(s *scene) *killed {
	s.Helper()
	if err := s.broker.Close(); err != nil {
		s.Fatal(err)
	}
	admin, err := bridge.OpenAdmin(s.Context(), bridge.AdminConfig{Dir: s.dir})
	if err != nil {
		s.Fatal(err)
	}
	granted, err := admin.Grant(s.Context(), api.GrantRequest{Ship: "laptop", Repo: "widgets", Verbs: []string{api.VerbRead, api.VerbComment}})
	if err := errors.Join(err, admin.Close()); err != nil {
		s.Fatal(err)
	}
	k := &killed{scene: s, faults: map[string]int{}}
	at := "unix://" + filepath.Join(s.dir, "ships.sock")
	raw, err := json.Marshal(child{Dir: s.dir, API: s.gh.URL(), Token: s.gh.Token(), Listen: at})
	file := filepath.Join(s.dir, "ship-credential")
	if err := errors.Join(err, os.WriteFile(file, []byte(granted.Credential), 0o600)); err != nil {
		s.Fatal(err)
	}
	k.child = childVariable + "=" + string(raw)
	if k.client, err = bridge.NewClient(bridge.ClientConfig{URL: at, CredentialFile: file}); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(k.kill)
	return k
}

// start does not wait for it: that is the ship's business.
func (k *killed) start() {
	k.Helper()
	k.program = exec.Command(os.Args[0])
	k.program.Env = append(os.Environ(), k.child)
	if err := k.program.Start(); err != nil {
		k.Fatal(err)
	}
}

func (k *killed) kill() {
	if k.program != nil {
		_ = k.program.Process.Kill()
		_ = k.program.Wait()
		k.program = nil
	}
}

// call reads, then comments.
func (k *killed) call(number int, body string) {
	_, err := k.client.Do(context.Background(), bridge.Request{Op: bridge.OpIssueView, Repo: "widgets", Workspace: "widgets/main", Number: number})
	k.note("", err)
	k.note(body, k.comment(number, body))
}

func (k *killed) comment(number int, body string) error {
	r := comment(number, body)
	r.Repo, r.Workspace, r.Key = "widgets", "widgets/main", uuid.Must(uuid.NewV7()).String()
	_, err := k.client.Do(context.Background(), r)
	return err
}

func (k *killed) note(body string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls++
	var e *api.Error
	switch {
	case err == nil && body != "":
		k.posted = append(k.posted, body)
	case err == nil:
	case errors.As(err, &e) && e.Code == api.OutcomeUnknown && body != "":
		k.open = append(k.open, body)
	default:
		k.faults[err.Error()]++
	}
}

func (k *killed) awaitMore(n int) {
	k.Helper()
	done := func() (calls int, faults string) {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.calls, fmt.Sprint(k.faults)
	}
	from, faults := done()
	deadline := time.Now().Add(40 * time.Second)
	for now := from; now < from+n; now, faults = done() {
		if time.Now().After(deadline) {
			k.Fatalf("%d calls in 40 s, want %d; failed: %s", now-from, n, faults)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// resolve asks for each open comment again, with the same text. What the forge has is found; what it
// has not stays open for a minute, since it may still come.
func (k *killed) resolve(number int, texts func() []string) {
	k.Helper()
	for _, body := range slices.Clone(k.open) {
		before := count(texts(), body)
		err := k.comment(number, body)
		var e *api.Error
		switch after := count(texts(), body); {
		case err == nil && after == 1:
		case before == 0 && after == 0 && errors.As(err, &e) && e.Code == api.OutcomeUnknown:
		default:
			k.Errorf("%q was there %d times, and %d times once asked for again: %v", body, before, after, err)
		}
	}
}
