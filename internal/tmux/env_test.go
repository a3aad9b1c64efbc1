package tmux_test

import (
	"slices"
	"testing"

	"fleet/internal/tmux"
)

func TestOnlyTheAllowListReachesTmux(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ in, want []string }{
		"all that is allowed": {
			[]string{"HOME=/h", "USER=u", "LOGNAME=u", "SHELL=/s", "PATH=/p", "LANG=de_DE.UTF-8", "LC_TIME=C", "TERM=x", "TZ=UTC", "XDG_RUNTIME_DIR=/r", "SSH_AUTH_SOCK=/a", "DISPLAY=:0", "WAYLAND_DISPLAY=w"},
			[]string{"HOME=/h", "USER=u", "LOGNAME=u", "SHELL=/s", "PATH=/p", "LANG=de_DE.UTF-8", "LC_TIME=C", "TERM=x", "TZ=UTC", "XDG_RUNTIME_DIR=/r", "SSH_AUTH_SOCK=/a", "DISPLAY=:0", "WAYLAND_DISPLAY=w"},
		},
		"nothing else": {
			[]string{"LANG=C.utf8", "GITHUB_TOKEN=x", "CLAUDECODE=1", "FLEET_X=1", "TMUX=a,1,0", "TMUX_PANE=%0", "TMUX_TMPDIR=/t", "LD_PRELOAD=x", "homepath=/", "broken"},
			[]string{"LANG=C.utf8"},
		},
		"no locale":                      {nil, []string{"LANG=C.UTF-8"}},
		"a locale without UTF-8":         {[]string{"LANG=C", "LC_TIME=C"}, []string{"LC_TIME=C", "LANG=C.UTF-8"}},
		"a locale that overrules UTF-8":  {[]string{"LANG=en_US.UTF-8", "LC_ALL=POSIX"}, []string{"LANG=C.UTF-8"}},
		"UTF-8 that overrules a locale":  {[]string{"LANG=C", "LC_CTYPE=en_US.UTF-8"}, []string{"LANG=C", "LC_CTYPE=en_US.UTF-8"}},
		"the first of two":               {[]string{"HOME=/a", "HOME=/b", "LANG=C.UTF-8"}, []string{"HOME=/a", "LANG=C.UTF-8"}},
		"an empty one does not overrule": {[]string{"LC_ALL=", "LANG=C.UTF-8"}, []string{"LC_ALL=", "LANG=C.UTF-8"}},
	}
	for what, c := range cases {
		got := tmux.Environ(c.in)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: Environ(%q) = %q, want %q", what, c.in, got, c.want)
		}
		if again := tmux.Environ(got); !slices.Equal(again, got) {
			t.Errorf("%s: Environ of its own answer = %q, want %q", what, again, got)
		}
	}
}
