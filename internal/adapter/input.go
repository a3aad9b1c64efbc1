package adapter

import (
	"encoding/json"
	"io"
	"unicode/utf8"
)

// run takes in lines until the input ends.
func (s *session) run(in io.Reader) {
	for l := newLines(in); ; {
		line, long, err := l.next()
		switch {
		case err != nil:
			return
		case long != nil:
			s.tooLong(long)
		default:
			s.take(line)
		}
	}
}

// take sorts one line. It never waits for the ship.
func (s *session) take(line []byte) {
	switch {
	case !utf8.Valid(line): // not even its id could be written back
		s.log.say("passed over a line that is not valid UTF-8")
		s.out.write((&failure{code: codeParse, message: "the line is not valid UTF-8"}).line(s.unknownID()))
	case !json.Valid(line):
		s.log.say("passed over a line that is not JSON")
		s.out.write((&failure{code: codeParse, message: "the line is not JSON"}).line(s.unknownID()))
	case line[0] == '[':
		s.takeBatch(line)
	case line[0] == '{':
		s.takeMessage(line, parse(line))
	default:
		s.invalid(s.unknownID(), "a message is a JSON object")
	}
}

func (s *session) takeMessage(line []byte, m message) {
	kind := m.kind()
	switch {
	case kind == malformed:
		id := m.id
		if _, ok := idKey(id); !ok {
			id = s.unknownID()
		}
		s.invalid(id, notAMessage)
	case m.method == methodCancelled && kind == notification:
		s.cancelled(m)
	case s.outside != nil:
		if kind == request {
			answer := s.outside.answer(m)
			s.learn(m, parse(answer))
			s.out.write(answer)
		}
	default:
		c := newCall(line)
		c.message = m
		if kind == request {
			c.ask(m.id)
		}
		s.dispatch(c, kind)
	}
}

// unknownID is the id of an answer to what cannot be told: null in JSON-RPC 2.0 (§5), absent
// since MCP 2025-11-25, where null is no id.
func (s *session) unknownID() []byte {
	if s.negotiated() >= "2025-11-25" {
		return nil
	}
	return []byte("null")
}

// notAMessage is why a malformed object is refused.
const notAMessage = "the message is no request, no notification and no response; an id is a string or a number"

func (s *session) invalid(id []byte, why string) {
	s.log.say("refused a line: " + why)
	s.out.write((&failure{code: codeInvalid, message: why}).line(id))
}

// tooLong answers a request of which only id and method were kept.
func (s *session) tooLong(long *skim) {
	const text = "the message is longer than 32 MiB, the most that is passed on"
	s.log.say(text)
	if _, ok := idKey(long.id); ok && long.method != nil && json.Valid(long.id) {
		id := long.id
		if !utf8.Valid(id) {
			id = s.unknownID()
		}
		s.out.write((&failure{code: codeInvalid, message: text}).line(id))
	}
}

// takeBatch takes in an array. Each element with an id is answered under it, and where there is
// none, elements that are no message get one error together. The array is forwarded if the
// revision has batches; see exchange.
func (s *session) takeBatch(line []byte) {
	c := newCall(line)
	c.batch = true
	empty, unfit := true, false
	elements(line, func(one []byte) {
		empty = false
		var m message // malformed where the element is no object
		if one[0] == '{' {
			m = parse(one)
		}
		_, identified := idKey(m.id)
		switch kind := m.kind(); {
		case kind == response:
		case kind == notification:
			if m.method == methodCancelled {
				s.cancelled(m)
			}
		case identified:
			c.ask(m.id)
		default:
			unfit = true
		}
	})
	switch {
	case empty:
		s.invalid(s.unknownID(), "an empty batch")
		return
	case unfit && len(c.asked) == 0:
		s.invalid(s.unknownID(), "a message in a batch is a JSON object")
	}
	switch {
	case s.outside != nil:
		s.answerOutside(c)
	case len(c.asked) == 0:
		s.dispatch(c, notification)
	default:
		s.dispatch(c, request)
	}
}

// answerOutside answers a batch outside every workspace, where each answer is known at once.
func (s *session) answerOutside(c *call) {
	if s.negotiated() == batchVersion {
		if answers := s.outside.answerAll(c.line); answers != nil {
			s.out.write(answers)
		}
		return
	}
	for _, a := range c.asked {
		s.out.write(noBatches().line(a.id))
	}
}

// noBatches is the error for a request in an array where the revision has none.
func noBatches() *failure {
	return &failure{code: codeInvalid, message: "this revision of MCP has no batches; send one message a line"}
}

// cancelled ends the request that m names. Nothing is forwarded: closing the POST is the
// cancel, and a server that keeps requests by id alone would end another client's.
func (s *session) cancelled(m message) {
	key, ok := idKey(field(m.params, "requestId"))
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.live {
		c.drop(key)
	}
}
