package main

import (
	"strings"
	"testing"
)

func TestACommandInAHintWorksAsItStands(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	me := executable()
	here, far, own := &app{}, &app{atlasFlag: "/srv/my atlas"}, &app{bridgeFlag: "/etc/b.yaml"}
	cases := map[string]struct {
		a          *app
		line, want string
	}{
		"under its path":   {here, "x is not active; next: ship activate x", "x is not active; next: ME activate x"},
		"on another atlas": {far, "no; next: ship create 'a b', or see: ship ls", "no; next: ME --atlas '/srv/my atlas' create 'a b', or see: ME --atlas '/srv/my atlas' ls"},
		"that names it":    {far, "no; next: ship up --atlas /x", "no; next: ME up --atlas /x"},
		"of no atlas":      {far, "no; next: ship credential add h", "no; next: ME credential add h"},
		"of a bridge":      {own, "no; next: ship bridge list shows those", "no; next: ME bridge --config /etc/b.yaml list shows those"},
		"that is placed":   {far, "no; next: /opt/ship activate x", "no; next: /opt/ship activate x"},
		"but no prose":     {far, "ship activate; next: give this ship a grant, ship serves; the ship up", "ship activate; next: give this ship a grant, ship serves; the ME --atlas '/srv/my atlas' up"},
		"and no hint":      {far, "no ship serves /x", "no ship serves /x"},
	}
	for name, c := range cases {
		want := strings.ReplaceAll(c.want, "ME", me)
		if got := c.a.placed(c.line); got != want {
			t.Errorf("%s: placed(%q) = %q, want %q", name, c.line, got, want)
		}
	}
}
