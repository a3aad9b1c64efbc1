package api

import (
	"encoding/json"
	"time"
)

// The operator API is HTTP on ship.sock: POST /v1/METHOD with a JSON object in and out. Errors
// travel as an Error under its HTTP status. The methods, with request and answer:
//
//	info        Empty           Ship
//	workspaces  Empty           Workspaces
//	workspace   WorkspaceName          Workspace
//	create      CreateRequest   a stream of CreateStep, one a line
//	activate    ActivateRequest Workspace
//	deactivate  WorkspaceName          Workspace
//	remove      RemoveRequest   Empty
//	rotate      WorkspaceName          Empty
//	call        CallRequest     CallResult
//	logs        LogsRequest     Logs
//	reload      Empty           Ship
//	stop        Empty           Ship

// Empty is a request or an answer without content.
type Empty struct{}

// WorkspaceName names a workspace.
type WorkspaceName struct {
	Repo string `json:"repo"`
	Name string `json:"name"`
}

// Ship says what a running ship is. Problems is empty where it is ready.
type Ship struct {
	Version    string    `json:"version"`
	PID        int       `json:"pid"`
	Root       string    `json:"root"`
	Port       int       `json:"port"`
	Bridge     string    `json:"bridge"` // "embedded", or the address of a bridge of its own process
	StartedAt  time.Time `json:"started_at"`
	Background bool      `json:"background"` // started by ship up, so that ship down may stop it
	Problems   []string  `json:"problems"`   // toolsets have theirs in Toolsets
	Toolsets   []Toolset `json:"toolsets"`   // those of atlas.json, in its order
}

// CreateRequest asks for a new checkout. Branch is made, from From or the default branch, where
// the repository has none of that name; empty means the default branch.
type CreateRequest struct {
	WorkspaceName
	Branch string `json:"branch,omitempty"`
	From   string `json:"from,omitempty"`
}

// CreateStep is one line of create's answer: progress, and at last the workspace or an error.
type CreateStep struct {
	Progress  string     `json:"progress,omitempty"`
	Workspace *Workspace `json:"workspace,omitempty"`
	Error     *Error     `json:"error,omitempty"`
}

// ActivateRequest starts a workspace's session. Env reaches its processes; an empty Command
// means the user's shell.
type ActivateRequest struct {
	WorkspaceName
	Env     map[string]string `json:"env,omitempty"`
	Command []string          `json:"command,omitempty"`
}

// RemoveRequest deletes a checkout; Force takes uncommitted and unpushed work with it.
type RemoveRequest struct {
	WorkspaceName
	Force bool `json:"force,omitempty"`
}

// CallRequest calls a tool as the workspace's agent would. Arguments is an object, or absent.
type CallRequest struct {
	WorkspaceName
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// CallResult is a tool's answer.
type CallResult struct {
	Text    string `json:"text"`
	IsError bool   `json:"is_error"`
}

// LogsRequest asks for the last Lines lines of a session's text; 0 means all that is kept.
type LogsRequest struct {
	WorkspaceName
	Lines int `json:"lines,omitempty"`
}

// Logs is the text of a session, as its terminal shows it.
type Logs struct {
	Text string `json:"text"`
}
