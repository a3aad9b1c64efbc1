package bridge

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"
)

// File is bridge.yaml: what a bridge of its own process serves. Its schema is
// api/bridge.schema.json.
type File struct {
	// Listen is HOST:PORT or unix:///PATH. Without TLS it is on loopback or a unix socket.
	Listen string
	TLS    *TLSFiles
	// Dir holds bridge.db, audit.jsonl and the operators' bridge.sock.
	Dir         string
	Repos       map[string]Registered
	Credentials []FileCredential

	served *certificate // what Listener serves; nil: none
}

// TLSFiles name a certificate with its chain, and its key, in PEM.
type TLSFiles struct {
	CertFile string
	KeyFile  string
}

// FileCredential is a credential of bridge.yaml: a File with a token, or an App.
type FileCredential struct {
	Host string // such as github.com; see ParseCredentialHost
	File string
	App  *FileApp
}

// FileApp is a GitHub App's installation.
type FileApp struct {
	ID           string // the app's id or its client id
	Installation int64
	KeyFile      string
	// What the tokens are narrowed to; none: all that the installation has. See AppConfig.
	RepositoryIDs []int64
	Permissions   map[string]string
}

// HostCredentials makes the configured credentials, for a CredentialStore. It reads no file.
func (f *File) HostCredentials() ([]HostCredential, error) {
	var all []HostCredential
	for _, c := range f.Credentials {
		h := HostCredential{Host: c.Host, File: c.File}
		if c.App != nil {
			at, err := f.apiOf(c.Host)
			if err != nil {
				return nil, fmt.Errorf("app for %s: %w", c.Host, err)
			}
			app, err := NewApp(AppConfig{
				API: at, Issuer: c.App.ID, Installation: c.App.Installation, KeyFile: c.App.KeyFile,
				RepositoryIDs: c.App.RepositoryIDs, Permissions: c.App.Permissions,
			})
			if err != nil {
				return nil, fmt.Errorf("app for %s: %w", c.Host, err)
			}
			h.Credential = app
		}
		all = append(all, h)
	}
	return all, nil
}

// apiOf is the address of the API that a repository is registered for at the credential's host,
// or GitHub's usual one there.
func (f *File) apiOf(host string) (*url.URL, error) {
	name, err := ParseCredentialHost(host)
	if err != nil {
		return nil, err
	}
	for _, r := range Registrations(f.Repos) {
		if r.Forge == forgeGitHub && credentialHost(r.API) == name {
			return r.API, nil
		}
	}
	return url.Parse(usualAPI(forgeGitHub, name))
}

// Listener opens what Listen says, with TLS where it is configured. The certificate is read again
// when its file changes, and follows the File that has taken f's place, see Succeed. A unix socket
// is open to everybody who reaches its directory: ships run under users of their own, and show a
// credential.
func (f *File) Listener() (net.Listener, error) {
	if path, ok := strings.CutPrefix(f.Listen, "unix://"); ok {
		return listenUnix(path, 0o666)
	}
	if f.TLS == nil {
		return net.Listen("tcp", f.Listen)
	}
	files := &certificate{files: *f.TLS}
	if _, err := files.get(nil); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", f.Listen)
	if err != nil {
		return nil, err
	}
	f.served = files
	return tls.NewListener(l, &tls.Config{
		MinVersion: tls.VersionTLS12, GetCertificate: files.get, NextProtos: []string{"h2", "http/1.1"},
	}), nil
}

// certificate reads its files again now and then, since certificates are renewed in place.
type certificate struct {
	mu     sync.Mutex
	files  TLSFiles
	read   time.Time
	loaded *tls.Certificate
}

// get gives the certificate. While the files can't be read, the last one goes on being used.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loaded != nil && time.Since(c.read) < time.Minute {
		return c.loaded, nil
	}
	loaded, err := c.files.load()
	if err != nil {
		if c.loaded == nil {
			return nil, err
		}
		return c.loaded, nil
	}
	c.keep(loaded)
	return c.loaded, nil
}

func (c *certificate) keep(loaded *tls.Certificate) { c.loaded, c.read = loaded, time.Now() }

func (f TLSFiles) load() (*tls.Certificate, error) {
	loaded, err := tls.LoadX509KeyPair(f.CertFile, f.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("read the bridge's certificate: %w", err)
	}
	return &loaded, nil
}

// ConfigFault is one thing that is wrong with bridge.yaml. It quotes no value of the file.
type ConfigFault struct {
	Line int    // from 1; 0: the file as a whole
	Path string // such as repos.widgets.url
	What string
}

// ConfigFaults is everything that is wrong with bridge.yaml, in the order of its lines.
type ConfigFaults []ConfigFault

// Error gives one line a fault.
func (f ConfigFaults) Error() string {
	var b strings.Builder
	for i, one := range f {
		if i > 0 {
			b.WriteByte('\n')
		}
		if one.Line > 0 {
			fmt.Fprintf(&b, "line %d: ", one.Line)
		}
		if one.Path != "" {
			fmt.Fprintf(&b, "%s: ", one.Path)
		}
		b.WriteString(one.What)
	}
	return b.String()
}
