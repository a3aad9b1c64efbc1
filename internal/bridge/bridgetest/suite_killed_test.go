package bridgetest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fleet/api"
	"fleet/internal/bridge"
	"fleet/internal/bridge/bridgetest"
)

// childVariable tells this test's program, started by itself, to be a bridge that is to be killed.
const childVariable = "FLEET_TEST_BRIDGE"

// child is what the bridge to be killed has to do.
type child struct {
	Dir, API, Token string
	Request         bridge.Request
	Listen          string // in place of Request: where to serve ships
}

func TestMain(m *testing.M) {
	if raw := os.Getenv(childVariable); raw != "" {
		fmt.Println(beKilled(raw))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// beKilled writes what it was told to, and gives the answer, if it lives to see it.
func beKilled(raw string) string {
	var c child
	if err := json.Unmarshal([]byte(raw), &c); err != nil {
		return err.Error()
	}
	config, err := configOf(c.API, c.Token, c.Dir)
	if err != nil {
		return err.Error()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	b, err := bridge.Open(ctx, config)
	if err != nil {
		return err.Error()
	}
	if c.Listen != "" {
		l, err := (&bridge.File{Listen: c.Listen}).Listener()
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(bridge.Serve(ctx, l, b.Handler(), config.Logger))
	}
	answer, err := b.As(b.Local()).Do(ctx, c.Request)
	return fmt.Sprint(string(answer), err)
}

// TestABridgeThatIsKilledPostsOnce kills a bridge, a process of its own, at the moments that matter.
func TestABridgeThatIsKilledPostsOnce(t *testing.T) {
	t.Parallel()
	waiting(t, map[string]func(s *scene){
		"between sending and recording": func(s *scene) {
			i := s.repo.Issue("Crash")
			r := killAt(s, comment(i.Number(), "hello"), func(rule *bridgetest.Rule) { rule.Stall() })
			w := get[api.Written](s, r)
			if got := i.Texts(); len(got) != 1 || !strings.Contains(w.URL, "#issuecomment-") || w.DuplicateOf != "" {
				s.Errorf("comments %q, answer %+v; want one", got, w)
			}
			again := comment(i.Number(), "hello")
			if w := get[api.Written](s, again); w.DuplicateOf == "" || len(i.Texts()) != 1 {
				s.Errorf("the same words under another key: %+v, comments %q; want a duplicate", w, i.Texts())
			}
			get[api.Written](s, comment(i.Number(), "other words"))
			if n := s.gh.Count("POST", "/comments"); n != 2 {
				s.Errorf("sent %d comments in all, want 2", n)
			}
		},
		"a review, between sending and recording": func(s *scene) {
			p := s.repo.Pull("Fix")
			r := killAt(s, review(p.Number(), "APPROVE", "good"), func(rule *bridgetest.Rule) { rule.Stall() })
			if w := get[api.Written](s, r); w.State != "APPROVED" || len(p.Reviews()) != 1 {
				s.Errorf("answer %+v, reviews %q; want one", w, p.Reviews())
			}
		},
		"after sending, before the forge stored it": func(s *scene) {
			i := s.repo.Issue("Crash")
			r := killAt(s, comment(i.Number(), "hello"), func(rule *bridgetest.Rule) { rule.StallBefore() })
			s.refused(r, api.OutcomeUnknown, "write_outcome_unknown", "repo_issue_view")
			if n := s.gh.Count("POST", "/comments"); n != 1 || len(i.Texts()) != 0 {
				s.Errorf("sent %d times, comments %q", n, i.Texts())
			}
		},
	})
}

// killAt has a bridge of its own process do a write, kills it once the forge has the request, and
// opens another bridge on its files. It gives the request with its key.
func killAt(s *scene, r bridge.Request, breaks func(*bridgetest.Rule)) bridge.Request {
	s.Helper()
	if err := s.broker.Close(); err != nil {
		s.Fatal(err)
	}
	s.broker = nil
	r.Repo, r.Workspace, r.Key = "widgets", "widgets/main", uuid.Must(uuid.NewV7()).String()
	rule := s.gh.When("POST", "").Times(1)
	breaks(rule)
	raw, err := json.Marshal(child{Dir: s.dir, API: s.gh.URL(), Token: s.gh.Token(), Request: r})
	if err != nil {
		s.Fatal(err)
	}
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), childVariable+"="+string(raw))
	var out strings.Builder
	program.Stdout, program.Stderr = &out, &out
	if err := program.Start(); err != nil {
		s.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); rule.Hits() == 0 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	_ = program.Process.Kill()
	if err := program.Wait(); err == nil || rule.Hits() != 1 {
		s.Fatalf("the bridge ended by itself (%v), the forge was asked %d times: %s", err, rule.Hits(), &out)
	}
	s.open(s.gh.Token())
	return r
}
