package toolset

import (
	"encoding/json"
	"errors"
)

// declaration is one file, as api/toolset.schema.json describes it.
type declaration struct {
	Toolset         string                `json:"toolset"`
	Command         []string              `json:"command"`
	CommandVariable string                `json:"command_variable"`
	Program         string                `json:"program"`
	PassEnv         []string              `json:"pass_env"`
	Env             map[string]string     `json:"env"`
	ExitCodes       []int                 `json:"exit_codes"`
	TimeoutSeconds  int                   `json:"timeout_seconds"`
	MaxOutputBytes  int                   `json:"max_output_bytes"`
	Envelope        bool                  `json:"envelope"`
	SessionInput    string                `json:"session_input"`
	Contract        *stepDeclaration      `json:"contract"`
	Tools           []toolDeclaration     `json:"tools"`
	Resources       []resourceDeclaration `json:"resources"`
}

// stepDeclaration is one way of running the command and of reading what it prints.
type stepDeclaration struct {
	Args     []argument           `json:"args"`
	Output   string               `json:"output"` // text, json or lines
	Outcomes []outcomeDeclaration `json:"outcomes"`
	// ReportsFollow names the input whose paths the reports of a lines output repeat in order.
	ReportsFollow string `json:"reports_follow"`
}

type toolDeclaration struct {
	stepDeclaration
	Name           string          `json:"name"`
	Title          string          `json:"title"`
	Description    string          `json:"description"`
	Input          json.RawMessage `json:"input"`
	Concise        []string        `json:"concise"`
	RepositoryText bool            `json:"repository_text"`
}

type outcomeDeclaration struct {
	Exit  []int `json:"exit"`
	Error bool  `json:"error"`
}

type resourceDeclaration struct {
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	MIMEType    string `json:"mime_type"`
	Tool        string `json:"tool"`
}

// The kinds of a value.
const (
	kindPath       = "path"
	kindAbsPath    = "abspath"
	kindWord       = "word"
	kindText       = "text"
	kindPathOrWord = "path-or-word"
)

// argument is a literal, or a place for one input's whole value.
type argument struct {
	Literal string
	From    string
	Flag    string
	As      string
}

func (a argument) isLiteral() bool { return a.From == "" }

// UnmarshalJSON reads a string as a literal and an object as a place.
func (a *argument) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &a.Literal) == nil {
		return nil
	}
	var place struct{ From, Flag, As string }
	if err := json.Unmarshal(raw, &place); err != nil {
		return errors.New("an argument is a string or an object")
	}
	a.From, a.Flag, a.As = place.From, place.Flag, place.As
	return nil
}
