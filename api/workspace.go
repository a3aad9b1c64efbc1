package api

import "time"

// State is the phase that an agent reports of itself.
type State string

// The five states. Only Awaiting asks for a person.
const (
	Idle      State = "idle"
	Planning  State = "planning"
	Building  State = "building"
	Verifying State = "verifying"
	Awaiting  State = "awaiting"
)

// States lists the states in the order in which they are documented.
func States() []State { return []State{Idle, Planning, Building, Verifying, Awaiting} }

// AgentStatus is what an agent said of itself. Description is empty after agent_init.
type AgentStatus struct {
	Repo        string    `json:"repo"`
	Workspace   string    `json:"workspace"`
	SessionID   string    `json:"session_id"` // UUIDv7, new with each agent_init
	Model       string    `json:"model"`
	Provider    string    `json:"provider"`
	Harness     string    `json:"harness"`
	State       State     `json:"state"`
	Description string    `json:"description"`
	StartedAt   time.Time `json:"started_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

// Observed holds facts that the ship saw for itself, beside what the agent reports and never
// mixed with it. A nil field was not seen since the ship's start.
type Observed struct {
	PaneCommand    *string    `json:"pane_command"`
	PaneActivityAt *time.Time `json:"pane_activity_at"`
	LastCallAt     *time.Time `json:"last_call_at"` // last MCP request with a valid token
	MCPSeen        *bool      `json:"mcp_seen"`     // a client came since the session began; nil if inactive
}

// Workspace is one checkout as an operator sees it.
type Workspace struct {
	Repo           string       `json:"repo"`
	Name           string       `json:"name"`
	Path           string       `json:"path"`
	Active         bool         `json:"active"`
	InactiveReason *string      `json:"inactive_reason"` // nil if active and well; see the Inactive constants
	Branch         *string      `json:"branch"`          // nil on a detached HEAD or an unreadable one
	Head           *string      `json:"head"`            // commit in hex; nil on a branch without commits
	Agent          *AgentStatus `json:"agent"`           // nil until agent_init
	Observed       Observed     `json:"observed"`
}

// Why a workspace is not active. The last three say of an active one what keeps it from working.
const (
	InactiveNeverActivated = "never_activated"  // no session since the ship's start
	InactiveCommand        = "command"          // ship deactivate
	InactiveSessionEnded   = "session_ended"    // the session ended by itself or by hand
	InactiveDirectoryGone  = "directory_gone"   // the session lives, its directory does not
	InactiveTokenConflict  = "token_conflict"   // its token stands in another session too
	InactiveTmuxAway       = "tmux_unreachable" // tmux does not answer
)

// Workspaces is what `ship ls --json` and `ship status --json` print.
type Workspaces struct {
	Workspaces []Workspace `json:"workspaces"`
}
