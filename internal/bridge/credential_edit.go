package bridge

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"
)

// StoredCredential is one that `ship credential add` wrote, without its secret.
type StoredCredential struct {
	Host        string    `json:"host"`
	Fingerprint string    `json:"fingerprint,omitempty"` // see Secret.Fingerprint
	UpdatedAt   time.Time `json:"updated_at"`
	Fault       string    `json:"fault,omitempty"` // why the bridge won't use it
}

// Add keeps token as host's credential, in place of an earlier one: in a file of mode 0600 in a
// directory of mode 0700, written aside and renamed. It gives the name under which it is kept.
func (s *CredentialStore) Add(host string, token Secret) (string, error) {
	name, err := ParseCredentialHost(host)
	if err != nil {
		return "", err
	}
	token, err = parseToken(token.Reveal(), "the token")
	if err != nil {
		return "", err
	}
	if err := s.openDir(); err != nil {
		return "", err
	}
	path := filepath.Join(s.dir, name)
	// Revealed into the one file that is meant to hold it.
	if err := writePrivate(path, token.Reveal()+"\n"); err != nil {
		return "", fmt.Errorf("write credential: %w", err)
	}
	return name, nil
}

// writePrivate writes beside path and renames. renameio.WriteFile would keep the mode of a file that
// was there, and write to the system's temporary directory first.
func writePrivate(path, text string) error {
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return err
	}
	defer func() { _ = f.Cleanup() }()
	if _, err := f.WriteString(text); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}

// openDir makes the directory, and refuses one that others may write to: they could put a
// credential of theirs in an operator's place.
func (s *CredentialStore) openDir() error {
	if s.dir == "" {
		return errors.New("no directory for credentials")
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("make credential directory: %w", err)
	}
	info, err := os.Stat(s.dir)
	if err != nil {
		return fmt.Errorf("credential directory: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("credential directory %s is open to others: chmod 700 it", s.dir)
	}
	return nil
}

// Remove forgets host's credential. It fails with fs.ErrNotExist where there is none.
func (s *CredentialStore) Remove(host string) error {
	name, err := ParseCredentialHost(host)
	if err != nil {
		return err
	}
	if s.dir == "" {
		return fs.ErrNotExist
	}
	return os.Remove(filepath.Join(s.dir, name))
}

// List gives what is stored, by host. A missing directory holds nothing.
func (s *CredentialStore) List() ([]StoredCredential, error) {
	if s.dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list credentials: %w", err)
	}
	var list []StoredCredential
	for _, entry := range entries {
		if hidden(entry.Name()) {
			continue
		}
		stored := StoredCredential{Host: entry.Name()}
		if info, err := entry.Info(); err == nil {
			stored.UpdatedAt = info.ModTime().UTC()
		}
		text, err := readSecretOnce(filepath.Join(s.dir, entry.Name()), ownerOnly)
		var token Secret
		if err == nil {
			token, err = parseToken(text, "the file")
		}
		if err != nil {
			stored.Fault = err.Error()
		}
		stored.Fingerprint = token.Fingerprint()
		list = append(list, stored)
	}
	return list, nil
}
