package bridge

import (
	"cmp"
	"crypto/tls"
)

// Reread parses text as ParseConfig does, and makes ready for it to take f's place as Succeed does.
// It fails with ConfigFaults, which are those of the text and those of what cannot change, all at
// once.
func (f *File) Reread(text []byte) (next *File, change func(), err error) {
	next, faults := parseConfig(text)
	if len(faults) == 0 {
		change, err = f.Succeed(next)
		return next, change, err
	}
	if next != nil { // what cannot be read is at fault already
		next.Listen, next.Dir = cmp.Or(next.Listen, f.Listen), cmp.Or(next.Dir, f.Dir)
		faults = append(faults, f.fixed(next)...)
	}
	return nil, nil, faults
}

// Succeed makes ready for next to take f's place in a bridge that runs. It fails with ConfigFaults,
// which are all that cannot change without a restart, and the certificate where it can't be read.
// Where it doesn't, change does the rest and cannot fail; without it, f stays as it was.
func (f *File) Succeed(next *File) (change func(), err error) {
	faults := f.fixed(next)
	if len(faults) > 0 || next.TLS == nil || f.served == nil {
		return func() { next.served = f.served }, faults.orNil()
	}
	loaded, err := next.TLS.load()
	if err != nil {
		return nil, ConfigFaults{{Path: "tls", What: err.Error()}}
	}
	return func() {
		next.served = f.served
		f.served.use(*next.TLS, loaded)
	}, nil
}

// fixed names what next would change and a bridge that runs cannot.
func (f *File) fixed(next *File) (faults ConfigFaults) {
	stays := func(path string, same bool) {
		if !same {
			faults = append(faults, ConfigFault{Path: path, What: "cannot change while the bridge runs: put it back, or restart the bridge"})
		}
	}
	stays("listen", f.Listen == next.Listen)
	stays("dir", f.Dir == next.Dir)
	stays("tls", (f.TLS == nil) == (next.TLS == nil)) // other files are another matter
	return faults
}

func (f ConfigFaults) orNil() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// use takes the certificate of other files from now on.
func (c *certificate) use(files TLSFiles, loaded *tls.Certificate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files = files
	c.keep(loaded)
}

// Reload tells the Broker that its whole configuration has changed: the registry, as for Reregister,
// and what a credential may see. What was read before is forgotten.
func (b *Broker) Reload() {
	b.Reregister()
	b.reads.forgetAll()
}

// forgetAll drops every answer. Nobody joins questions that are under way any more, and nothing keeps
// their answers.
func (r *reads) forgetAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range r.flights {
		r.writes[key.repo]++
		delete(r.flights, key)
	}
	for _, element := range r.entries {
		r.drop(element)
	}
}
