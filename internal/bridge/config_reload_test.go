package bridge

import (
	"context"
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fleet/api"
)

func TestWhatCannotChangeWhileABridgeRunsIsAllNamed(t *testing.T) {
	now := &File{Listen: "127.0.0.1:4800", Dir: "/d"}
	change, err := now.Succeed(&File{Listen: "127.0.0.1:4801", Dir: "/e", TLS: &TLSFiles{"/c", "/k"}})
	var faults ConfigFaults
	if !errors.As(err, &faults) || len(faults) != 3 {
		t.Fatalf("Succeed = %v, %v; want three faults", change != nil, err)
	}
	for i, path := range []string{"listen", "dir", "tls"} {
		if faults[i].Path != path || !strings.Contains(faults[i].What, "restart the bridge") {
			t.Errorf("fault %d: %+v, want of %s", i, faults[i], path)
		}
	}
	next := &File{Listen: "127.0.0.1:4800", Dir: "/d", Repos: map[string]Registered{"widgets": {}}, Credentials: []FileCredential{{Host: "github.com"}}}
	if _, err := now.Succeed(next); err != nil {
		t.Errorf("what may change is refused: %v", err)
	}
}

// served is the name on the certificate that a listener shows.
func served(t *testing.T, address string) string {
	t.Helper()
	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].Subject.CommonName
}

func TestOtherCertificateFilesAreServedAtOnceAndBadOnesNever(t *testing.T) {
	first, second := writeCertificate(t, "first"), writeCertificate(t, "second")
	now := &File{Listen: "127.0.0.1:0", Dir: "/d", TLS: &first}
	l, err := now.Listener()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = conn.(*tls.Conn).Handshake(); _ = conn.Close() }()
		}
	}()
	if got := served(t, l.Addr().String()); got != "first" {
		t.Fatalf("served is %q", got)
	}
	bad := TLSFiles{first.CertFile, second.KeyFile}
	for range 2 {
		if _, err := now.Succeed(&File{Listen: now.Listen, Dir: now.Dir, TLS: &bad}); err == nil || !strings.HasPrefix(err.Error(), "tls: read the bridge's certificate") {
			t.Errorf("a key of another certificate: %v", err)
		}
		if got := served(t, l.Addr().String()); got != "first" {
			t.Errorf("served is %q after a fault", got)
		}
	}
	next := &File{Listen: now.Listen, Dir: now.Dir, TLS: &second}
	change, err := now.Succeed(next)
	if err != nil {
		t.Fatal(err)
	}
	if got := served(t, l.Addr().String()); got != "first" {
		t.Errorf("served is %q before the change", got)
	}
	change()
	if got := served(t, l.Addr().String()); got != "second" {
		t.Errorf("served is %q after the change", got)
	}
	// Renewed in its place, it is read again with the next change, not with the next minute.
	third := writeCertificate(t, "third")
	for from, to := range map[string]string{third.CertFile: second.CertFile, third.KeyFile: second.KeyFile} {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	if change, err = next.Succeed(&File{Listen: now.Listen, Dir: now.Dir, TLS: &second}); err != nil {
		t.Fatal(err)
	}
	change()
	if got := served(t, l.Addr().String()); got != "third" {
		t.Errorf("served is %q after it was renewed", got)
	}
}

func TestConfiguredCredentialsAreReplacedAllOrNone(t *testing.T) {
	dir := t.TempDir()
	file := func(name, token string) string {
		path := filepath.Join(dir, name)
		writeSecret(t, path, token, 0o600)
		return path
	}
	s, err := NewCredentialStore(CredentialStoreConfig{Configured: []HostCredential{{Host: "github.com", File: file("a", "token-a")}}})
	if err != nil {
		t.Fatal(err)
	}
	r := Registered{Forge: "github", URL: "https://github.com/acme/widgets"}
	at, err := r.api()
	if err != nil {
		t.Fatal(err)
	}
	credential, err := s.For("github", at)
	if err != nil {
		t.Fatal(err)
	}
	expect := func(want string) {
		t.Helper()
		if got, err := credential.Authorization(t.Context()); err != nil || got.Reveal() != want {
			t.Errorf("Authorization = %q, %v; want %q", got.Reveal(), err, want)
		}
	}
	expect("Bearer token-a")
	other := HostCredential{Host: "github.com", File: file("b", "token-b")}
	if err := s.Reconfigure([]HostCredential{other, {Host: "https://x", File: "/x"}}); err == nil {
		t.Error("a host that is none was taken")
	}
	expect("Bearer token-a")
	if err := s.Reconfigure([]HostCredential{other}); err != nil {
		t.Error(err)
	}
	expect("Bearer token-b")
	if err := s.Reconfigure(nil); err != nil {
		t.Error(err)
	}
	expect("")
}

func TestAReloadForgetsWhatWasReadAndWhatIsBeingRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text atomic.Pointer[string]
		tell := func(s string) { text.Store(&s) }
		f := &fakeForge{}
		f.info = func(context.Context) (*api.RepoInfo, error) {
			now := *text.Load()
			time.Sleep(time.Second)
			return &api.RepoInfo{Description: now}, nil
		}
		b := openBench(t, "", f)
		expect := func(want string) {
			t.Helper()
			raw, err := b.do(Request{Op: OpInfo, Repo: "widgets"})
			if got := decode[api.RepoInfo](t, raw, err); got.Description != want {
				t.Errorf("%q, want %q", got.Description, want)
			}
		}
		tell("one")
		expect("one")
		tell("two")
		expect("one") // it is fresh
		b.Reload()
		go func() {
			time.Sleep(time.Second / 2)
			tell("three")
			b.Reload()
			expect("three") // without waiting for what was asked before
		}()
		expect("two") // who asked before the reload has the answer of then
		time.Sleep(time.Second)
		expect("three")
	})
}

func TestFaultsOfTheFileAndOfWhatCannotChangeAreNamedTogether(t *testing.T) {
	now := &File{Listen: "127.0.0.1:4800", Dir: "/d"}
	for name, c := range map[string]struct {
		text string
		want []string // paths
	}{
		"an unknown key beside another dir": {"listen: 127.0.0.1:4800\ndir: /e\nrepos: {}\nlisten_on: x\n", []string{"listen_on", "dir"}},
		"a missing dir changes nothing":     {"listen: 127.0.0.1:4801\nrepos: {}\n", []string{"dir", "listen"}},
		"tls too":                           {"listen: 127.0.0.1:4800\ndir: /d\nrepos: {}\ntls: {cert_file: /c}\n", []string{"tls.key_file", "tls"}},
		"no YAML":                           {"listen: [", []string{""}},
		"what cannot change alone":          {"listen: 127.0.0.1:4801\ndir: /e\nrepos: {}\n", []string{"listen", "dir"}},
	} {
		_, _, err := now.Reread([]byte(c.text))
		var faults ConfigFaults
		errors.As(err, &faults)
		var paths []string
		for _, f := range faults {
			paths = append(paths, f.Path)
		}
		if !slices.Equal(paths, c.want) {
			t.Errorf("%s: faults of %q, want %q", name, paths, c.want)
		}
	}
	if _, _, err := now.Reread([]byte("listen: 127.0.0.1:4800\ndir: /d\nrepos: {}\n")); err != nil {
		t.Errorf("a file without faults: %v", err)
	}
}
