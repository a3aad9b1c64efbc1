package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"fleet/api"
	"fleet/internal/e2e/talk"
)

// fileForge is a forge whose posts lie in a file, so that they outlive the process that posts.
type fileForge struct {
	fakeForge
	path string
}

func (f *fileForge) all() (posts []Write) {
	raw, err := os.ReadFile(f.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		panic(err)
	}
	for line := range strings.Lines(string(raw)) {
		var w Write
		if err := json.Unmarshal([]byte(line), &w); err != nil {
			panic(err)
		}
		posts = append(posts, w)
	}
	return posts
}

func (f *fileForge) put(w Write) error {
	raw, err := json.Marshal(w)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(f.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(raw, '\n'))
	return errors.Join(err, file.Close())
}

func (f *fileForge) Write(_ context.Context, _ Repo, w Write) (*api.Written, error) {
	if err := f.put(w); err != nil {
		return nil, err
	}
	return written(len(f.all())), nil
}

func (f *fileForge) Find(_ context.Context, _ Repo, w Write, _ time.Time) (*api.Written, error) {
	for i, post := range f.all() {
		if post == w {
			return written(i + 1), nil
		}
	}
	return nil, nil
}

// dyingForge ends the process between the post and its record.
type dyingForge struct{ *fileForge }

func (f dyingForge) Write(_ context.Context, _ Repo, w Write) (*api.Written, error) {
	if err := f.put(w); err != nil {
		return nil, err
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		return nil, err
	}
	select {}
}

const dyingDir = "FLEET_TEST_DYING_BRIDGE"

func TestABridgeKilledBetweenSendingAndRecordingPostsOnce(t *testing.T) {
	if dir := os.Getenv(dyingDir); dir != "" {
		die(t, dir)
		return
	}
	dir := t.TempDir()
	f := &fileForge{path: filepath.Join(dir, "posts")}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), dyingDir+"="+dir)
	out, err := child.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL || len(f.all()) != 1 {
		t.Fatalf("the child ended with %v after %d posts, want killed after one:\n%s", err, len(f.all()), out)
	}
	log := &talk.Words{}
	b, err := Open(t.Context(), configOf(t, filepath.Join(dir, "bridge"), f, log))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	raw, err := b.As(b.Local()).Do(t.Context(), comment("done"))
	if w := decode[api.Written](t, raw, err); w.DuplicateOf != written(1).URL || len(f.all()) != 1 {
		t.Errorf("%+v and %d posts, want a duplicate of the one post", w, len(f.all()))
	}
	if report, err := b.desk.verify(); err != nil || len(report.Faults) > 0 {
		t.Errorf("the audit after the crash: %+v (%v)", report, err)
	}
}

// die is the process that is killed.
func die(t *testing.T, dir string) {
	f := dyingForge{&fileForge{path: filepath.Join(dir, "posts")}}
	b, err := Open(t.Context(), configOf(t, filepath.Join(dir, "bridge"), f, &talk.Words{}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.As(b.Local()).Do(t.Context(), comment("done"))
	t.Fatalf("lived on: %v", err)
}

// crashed gives the files of a bridge that ended while the forge was asked to post.
func crashed(t *testing.T, posts bool) (dir string, f *fakeForge) {
	t.Helper()
	f = &fakeForge{}
	b := openBench(t, "", f)
	f.write = func(_ context.Context, _ Write, post func() *api.Written) (*api.Written, error) {
		dir = copyDir(t, b.dir)
		if posts {
			return post(), nil
		}
		return nil, &api.Error{Code: api.Unavailable, Message: "never sent"}
	}
	_, _ = b.do(comment("done"))
	f.write = nil
	return dir, f
}

func TestAStartFindsWhatAnEarlierProcessPosted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, f := crashed(t, true)
		b := openBench(t, dir, f)
		time.Sleep(10 * time.Second)
		open, err := b.desk.store.undecided()
		if err != nil || len(open) != 0 {
			t.Errorf("undecided %v (%v), want none", open, err)
		}
		raw, err := b.do(comment("done"))
		if w := decode[api.Written](t, raw, err); w.DuplicateOf != written(1).URL || len(f.posted()) != 1 {
			t.Errorf("%+v and %d posts, want a duplicate of the one post", w, len(f.posted()))
		}
		if text, err := os.ReadFile(filepath.Join(dir, auditFile)); err != nil || !strings.Contains(string(text), `"event":"found"`) {
			t.Errorf("audit %s (%v), want that it was found", text, err)
		}
	})
}

func TestWhatWasNeverPostedIsPostedOnceItIsSure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, f := crashed(t, false)
		b := openBench(t, dir, f)
		_, err := b.do(comment("done"))
		expectError(t, err, "outcome_unknown/write_outcome_unknown")
		time.Sleep(time.Minute)
		raw, err := b.do(comment("done"))
		if w := decode[api.Written](t, raw, err); w.DuplicateOf != "" || len(f.posted()) != 1 {
			t.Errorf("%+v and %d posts, want one", w, len(f.posted()))
		}
	})
}

func TestAForgeThatIsAwayDoesNotKeepABridgeFromStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, f := crashed(t, true)
		var once sync.Once
		asked := make(chan struct{})
		f.find = func(Write) (*api.Written, error) {
			once.Do(func() { close(asked) })
			time.Sleep(20 * time.Second)
			return nil, &api.Error{Code: api.Unavailable, Message: "away"}
		}
		began := time.Now()
		b := openBench(t, dir, f)
		<-asked
		if _, err := b.do(Request{Op: OpInfo, Repo: "widgets"}); err != nil || time.Since(began) != 0 {
			t.Errorf("a read after %v: %v; want an answer at once", time.Since(began), err)
		}
		other := comment("done")
		other.Workspace = "other"
		if _, err := b.do(other); err != nil {
			t.Errorf("a write of another workspace: %v", err)
		}
	})
}

func TestClosingWaitsForAWriteThatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeForge{}
		sending := make(chan struct{})
		f.write = func(_ context.Context, _ Write, post func() *api.Written) (*api.Written, error) {
			close(sending)
			time.Sleep(5 * time.Second)
			return post(), nil
		}
		b := openBench(t, "", f)
		answered := make(chan error, 1)
		go func() {
			_, err := b.do(comment("done"))
			answered <- err
		}()
		<-sending
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-answered; err != nil {
			t.Errorf("the write under way: %v", err)
		}
		_, err := b.do(comment("more"))
		expectError(t, err, "unavailable/bridge_ending")
	})
}

func TestClosingCutsOffAWriteThatHangsAndTheNextStartLooksForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeForge{}
		sending := make(chan struct{})
		f.write = func(ctx context.Context, _ Write, post func() *api.Written) (*api.Written, error) {
			post()
			close(sending)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		f.find = func(Write) (*api.Written, error) { return nil, context.Canceled }
		b := openBench(t, "", f)
		answered := make(chan error, 1)
		go func() {
			_, err := b.do(comment("done"))
			answered <- err
		}()
		<-sending
		began := time.Now()
		if err := b.Close(); err != nil || time.Since(began) > 10*time.Second {
			t.Fatalf("Close() = %v after %v, want within 10 s", err, time.Since(began))
		}
		expectError(t, <-answered, "outcome_unknown/write_outcome_unknown")
		f.find, f.write = nil, nil
		again := openBench(t, b.dir, f)
		raw, err := again.do(comment("done"))
		if w := decode[api.Written](t, raw, err); w.DuplicateOf == "" || len(f.posted()) != 1 {
			t.Errorf("%+v and %d posts, want a duplicate of the one", w, len(f.posted()))
		}
	})
}
