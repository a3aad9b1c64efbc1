package api

import "time"

// The event types.
const (
	ShipStarted          = "ship.started"
	ShipStopped          = "ship.stopped"
	WorkspaceCreated     = "workspace.created"
	WorkspaceActivated   = "workspace.activated"
	WorkspaceAdopted     = "workspace.adopted"
	WorkspaceDeactivated = "workspace.deactivated"
	WorkspaceRemoved     = "workspace.removed"
	TokenRotated         = "token.rotated"
	AgentInitialized     = "agent.init"
	AgentReported        = "agent.status"
	ToolCalled           = "tool.call"
	AuthRefused          = "auth.refused"
)

// EventTypes lists the event types.
func EventTypes() []string {
	return []string{
		ShipStarted, ShipStopped, WorkspaceCreated, WorkspaceActivated, WorkspaceAdopted, WorkspaceDeactivated,
		WorkspaceRemoved, TokenRotated, AgentInitialized, AgentReported, ToolCalled, AuthRefused,
	}
}

// Event is one line of events.jsonl or calls.jsonl. It holds no token, no credential, and of a
// tool call neither arguments nor result.
type Event struct {
	ID        string    `json:"id"` // UUIDv7, unique across ships
	Time      time.Time `json:"time"`
	Type      string    `json:"type"`
	Repo      string    `json:"repo,omitempty"`
	Workspace string    `json:"workspace,omitempty"`

	Reason   string       `json:"reason,omitempty"`   // workspace.deactivated, auth.refused
	Agent    *AgentStatus `json:"agent,omitempty"`    // agent.init and agent.status: the new one
	Replaced *AgentStatus `json:"replaced,omitempty"` // agent.init: the one that was registered

	*Call // tool.call; its fields stand beside the others
}

// The outcomes of a call.
const (
	OutcomeOK      = "ok"
	OutcomeRefused = "refused" // the arguments or the state did not allow it
	OutcomeError   = "error"   // it was tried and failed
)

// Call is one call of a tool, without its arguments.
type Call struct {
	Stage   string `json:"stage"` // always "mcp"
	Tool    string `json:"tool"`
	Session string `json:"session,omitempty"` // session_id of the registered agent; of a toolset's tool the session that its caller named
	Outcome string `json:"outcome"`
	MS      int64  `json:"ms"`
	Bytes   int    `json:"bytes"` // of the result's text
}
