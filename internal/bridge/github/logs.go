package github

import (
	"context"

	"fleet/api"
	"fleet/internal/bridge"
)

// FailedLogs is not there yet.
func (p *Provider) FailedLogs(ctx context.Context, r bridge.Repo, at api.Resolved, cursor string) (*api.FailedLogs, error) {
	return nil, &api.Error{Code: api.Unsupported, Reason: "logs", Message: "logs are not read yet"}
}
