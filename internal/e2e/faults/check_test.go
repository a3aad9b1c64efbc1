//go:build e2e && linux

package faults

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

func (s *seedRun) runs() []*run {
	var all []*run
	for _, h := range s.harnesses {
		all = append(all, h.runs...)
	}
	return all
}

func (s *seedRun) asks() []*ask {
	var all []*ask
	for _, r := range s.runs() {
		all = append(all, r.order...)
	}
	return all
}

// checkAnswers holds each request to its one answer; take saw the answers too many.
func (s *seedRun) checkAnswers() {
	for _, r := range s.runs() {
		r.mu.Lock()
		for _, a := range r.order {
			s.count("requests")
			group := map[string]string{"repo_issue_comment": "comments: ", "agent_status": "statuses: "}[a.tool]
			state := [...]string{"unanswered", "ok", "failed", "unclear"}[a.outcome]
			switch {
			case len(a.answers) > 0:
			case r.killed:
				state = "lost"
			case !a.cancelled.IsZero():
				state = "cancelled"
			default:
				s.world.problem("request %s (%s, %q) was never answered", a.id, a.tool, a.value)
			}
			if group != "" {
				s.count(group + state)
			}
			if a.outcome == failed && strings.Contains(a.tool, "_") && !strings.Contains(a.text, "nothing was done") && !strings.Contains(a.text, "no token was sent") && !expectedCode(a.text) {
				s.world.problem("%s was answered with %q, which no fault explains", a.tool, a.text)
			}
		}
		r.mu.Unlock()
	}
}

// checkComments holds the forge to what the agents were told. The same words may have been sent
// several times; then what the answers say together counts.
func (s *seedRun) checkComments() {
	told := map[string][]outcome{}
	for _, a := range s.asks() {
		if a.tool == "repo_issue_comment" {
			told[a.value] = append(told[a.value], a.outcome)
		}
	}
	there := map[string]int{}
	for _, text := range s.world.issue.Texts() {
		there[text]++
	}
	for words, outcomes := range told {
		done, certain := false, true
		for _, o := range outcomes {
			done = done || o == ok
			certain = certain && o == failed
		}
		switch n := there[words]; {
		case n > 1:
			s.world.problem("the comment %q is on the forge %d times", words, n)
		case n == 0 && done:
			s.world.problem("the comment %q was answered as posted and is not on the forge", words)
		case n == 1 && certain:
			s.world.problem("the comment %q was answered as not posted and is on the forge", words)
		}
		delete(there, words)
	}
	for words := range there {
		s.world.problem("a comment on the forge that nobody wrote: %q", words)
	}
	for _, v := range s.world.gh.Violations() {
		s.world.problem("the stand-in forge: %s", v)
	}
}

// checkEvents holds the log to what was acknowledged: once each. What was refused for certain
// is not there, unless its session ended on the way.
func (s *seedRun) checkEvents() {
	type key struct{ kind, workspace, value string }
	there, plain := map[key]int{}, map[string]int{}
	for _, e := range s.events() {
		plain[e.Type+" "+e.Workspace]++
		if e.Agent != nil {
			there[key{e.Type, e.Workspace, map[bool]string{true: e.Agent.Model, false: e.Agent.Description}[e.Type == "agent.init"]}]++
		}
	}
	for _, a := range s.asks() {
		kind := map[string]string{"agent_init": "agent.init", "agent_status": "agent.status"}[a.tool]
		if kind == "" {
			continue
		}
		n := there[key{kind, s.world.names[a.run.workspace], a.value}]
		switch {
		case n > 1:
			s.world.problem("%q is in the events %d times", a.value, n)
		case a.outcome == ok && n == 0:
			s.world.problem("%q was acknowledged and is not in the events", a.value)
		case a.outcome == failed && n > 0 && !strings.HasPrefix(a.text, "conflict: "):
			s.world.problem("%q was refused with %q and is in the events", a.value, a.text)
		}
	}
	for what, n := range s.noted {
		if plain[what] < n {
			s.world.problem("%d commands made %s, and %d events say so", n, what, plain[what])
		}
	}
}

// event is what this looks at of an event.
type event struct {
	Type, Workspace string
	Agent           *struct{ Model, Description string }
}

// events reads the log whole, with what was rotated. Every line of it must be one.
func (s *seedRun) events() []event {
	var all []event
	paths, _ := filepath.Glob(filepath.Join(s.world.atlas, ".ship", "*.jsonl*"))
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			s.world.problem("%v", err)
			continue
		}
		for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
			var e event
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				s.world.problem("%s has a line that is no event: %q", filepath.Base(path), lines.Text())
			}
			all = append(all, e)
		}
	}
	return all
}
