package bridge

import "testing"

func TestWhereABridgeIsFoundIsReadFromAFaultyFileToo(t *testing.T) {
	const good = "listen: unix:///run/s\ndir: /var/x\n"
	for name, c := range map[string]struct{ text, listen, dir string }{
		"a faultless one":       {good + "repos: {}\n", "unix:///run/s", "/var/x"},
		"an unknown key":        {good + "reposs: {}\n", "unix:///run/s", "/var/x"},
		"no YAML":               {good + "repos: {widgets: [\n", "unix:///run/s", "/var/x"},
		"no YAML, quoted":       {"dir: \"/var/x\" # here\nrepos: }{\n", "", "/var/x"},
		"a repository's dir":    {"repos:\n  dir: /var/y\n  x: [\n", "", ""},
		"a relative one":        {"listen: unix:///run/s\ndir: x\n", "unix:///run/s", ""},
		"another kind":          {"dir: [/var/x]\n", "", ""},
		"nothing":               {"", "", ""},
		"two of a key, no YAML": {"dir: /var/x\ndir: /var/y\nrepos: [\n", "", ""},
	} {
		if listen, dir := ConfigPlace([]byte(c.text)); listen != c.listen || dir != c.dir {
			t.Errorf("%s: ConfigPlace = %q, %q; want %q, %q", name, listen, dir, c.listen, c.dir)
		}
	}
}
