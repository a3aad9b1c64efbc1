package main

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestALimitHoldsAtItsBoundAndNotBeyond(t *testing.T) {
	cases := map[string]struct {
		limit limit
		value float64
		met   bool
	}{
		"at most, below":        {atMost(1.5), 1.2, true},
		"at most, at the bound": {atMost(1.5), 1.5, true},
		"at most, above":        {atMost(1.5), 1.51, false},
		"at least, above":       {atLeast(40), 90, true},
		"at least, below":       {atLeast(40), 39.9, false},
		"at most, no number":    {atMost(1.5), math.NaN(), false},
		"at least, no number":   {atLeast(40), math.NaN(), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := c.limit.met(c.value); got != c.met {
				t.Errorf("(%s).met(%v) = %t, want %t", c.limit, c.value, got, c.met)
			}
		})
	}
}

func TestQuantilesLieBetweenTheRounds(t *testing.T) {
	s := series{4, 1, 3, 2}
	for q, want := range map[float64]float64{0: 1, 0.25: 1.75, 0.5: 2.5, 0.75: 3.25, 1: 4} {
		if got := s.quantile(q); got != want {
			t.Errorf("%v.quantile(%v) = %v, want %v", s, q, got, want)
		}
	}
	if got := (series{7}).median(); got != 7 {
		t.Errorf("the median of 7 alone = %v", got)
	}
	if got := (series{}).median(); !math.IsNaN(got) {
		t.Errorf("the median of nothing = %v, want NaN", got)
	}
	if !slices.Equal(s, series{4, 1, 3, 2}) {
		t.Errorf("quantile changed the rounds' order: %v", s)
	}
}

// A round in which the machine was busy makes both slower: their ratio stays.
func TestRatiosAreTakenRoundByRound(t *testing.T) {
	ours, theirs := series{2, 20, 2.2}, series{1, 10, 1.1}
	if got := ours.over(theirs).median(); got != 2 {
		t.Errorf("the median ratio of %v and %v = %v, want 2", ours, theirs, got)
	}
	if got := len(ours.over(theirs[:2])); got != 2 {
		t.Errorf("a round that one lacks gave a ratio: %d ratios, want 2", got)
	}
}

// adapterScores is one round in which agent-mcp just meets every target.
func adapterScores() map[string]*scores {
	return map[string]*scores{
		forwarderName: {start: series{4}, perCall: series{0.25}, rate: series{10000}, idle: series{7}},
		agentName:     {start: series{6}, perCall: series{0.5}, rate: series{7500}, idle: series{10}},
		scrubbedName:  {start: series{10}},
		remoteName:    {start: series{240}, perCall: series{1}, rate: series{1000}, idle: series{90}},
		gatewayName:   {start: series{600}, perCall: series{0.8}, rate: series{1500}, idle: series{120}},
	}
}

func verdicts(rows []row) map[string]string {
	out := map[string]string{}
	for _, r := range rows {
		if r.limit.set {
			out[r.name] = r.verdict()
		}
	}
	return out
}

func TestTheAdaptersRowsTurnOnTheirTargets(t *testing.T) {
	good := verdicts(adapterRows(adapterScores(), 8))
	if len(good) != 7 {
		t.Errorf("%d rows have a target, want 7: %v", len(good), good)
	}
	for name, v := range good {
		if v != "met" {
			t.Errorf("%s: %s, want met at the bound", name, v)
		}
	}
	worse := map[string]struct {
		change func(map[string]*scores)
		size   float64
	}{
		"start to tools/list ÷ forwarder":     {func(s map[string]*scores) { s[forwarderName].start = series{3.9} }, 8},
		"the same, environment scrubbed":      {func(s map[string]*scores) { s[scrubbedName].start = series{10.1} }, 8},
		"mcp-remote's start ÷ agent-mcp's":    {func(s map[string]*scores) { s[remoteName].start = series{239} }, 8},
		"a call ÷ (1.2 × forwarder + 0.2 ms)": {func(s map[string]*scores) { s[agentName].perCall = series{0.51} }, 8},
		"calls/s, 32 in flight ÷ forwarder":   {func(s map[string]*scores) { s[agentName].rate = series{7400} }, 8},
		"idle memory":                         {func(s map[string]*scores) { s[agentName].idle = series{10.1} }, 8},
		"program, stripped":                   {func(map[string]*scores) {}, 8.1},
	}
	for name, c := range worse {
		t.Run(name, func(t *testing.T) {
			s := adapterScores()
			c.change(s)
			if got := verdicts(adapterRows(s, c.size))[name]; got != "NOT MET" {
				t.Errorf("just beyond its target it is %q, want NOT MET", got)
			}
		})
	}
}

func TestAPeerThatIsMissingIsNotAMetTarget(t *testing.T) {
	s := adapterScores()
	delete(s, remoteName)
	delete(s, gatewayName)
	rows := adapterRows(s, 6)
	if got := verdicts(rows)["mcp-remote's start ÷ agent-mcp's"]; got != "not measured" {
		t.Errorf("without mcp-remote its row is %q, want not measured", got)
	}
	all := &table{}
	all.add("adapters", rows...)
	if got := all.missed(); got != 1 {
		t.Errorf("missed() = %d, want 1", got)
	}
}

func TestTheShipsRowsTurnOnTheirTargets(t *testing.T) {
	made := func(rate float64) *contender {
		return &contender{many: series{rate}, one: series{1}, lean: series{1}, cpu: series{1}}
	}
	cases := map[string]struct {
		bare, ship, sdk float64
		want            string
	}{
		"at both bounds":      {10000, 4500, 4500 / 3.5, "met met"},
		"too far from a bare": {10001, 4500, 1000, "NOT MET met"},
		"too near to go-sdk":  {10000, 4500, 1300, "met NOT MET"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			rows := shipRows(made(c.bare), made(c.ship), made(c.sdk), made(1))
			if got := rows[0].verdict() + " " + rows[1].verdict(); got != c.want {
				t.Errorf("bare %v/s, ship %v/s, go-sdk %v/s: %s, want %s", c.bare, c.ship, c.sdk, got, c.want)
			}
		})
	}
}

func TestTheTableShowsValueTargetAndVerdict(t *testing.T) {
	all := &table{machine: "2 processors"}
	all.add("a part",
		row{"good", "×", series{1, 1.25, 1.5}, atMost(1.5), "5 ms ÷ 4 ms"},
		row{"bad", "ms", series{120}, atMost(100), ""},
		row{"absent", "×", nil, atLeast(40), ""},
		row{"told", "MiB", series{8}, limit{}, ""})
	var out strings.Builder
	if err := all.print(&out); err != nil {
		t.Fatal(err)
	}
	squeezed := ""
	for line := range strings.Lines(out.String()) {
		squeezed += strings.Join(strings.Fields(line), " ") + "\n"
	}
	want := `2 processors

median middle half of rounds target how it comes about
a part
good 1.25 × 1.12 × … 1.38 × ≤ 1.5 met 5 ms ÷ 4 ms
bad 120 ms ≤ 100 NOT MET
absent – ≥ 40 not measured
told 8.00 MiB
`
	if squeezed != want {
		t.Errorf("print wrote\n%s\nwant\n%s", squeezed, want)
	}
}
