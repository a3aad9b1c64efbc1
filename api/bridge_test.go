package api_test

import (
	"encoding/json"
	"errors"
	"testing"

	"fleet/api"
)

func TestAProblemGivesBackTheErrorWithoutItsCause(t *testing.T) {
	err := &api.Error{
		Code: api.RateLimited, Reason: "primary", Message: "slow down", Hint: "wait", RetryAfterSeconds: 7,
		Err: errors.New("what only the log may say"),
	}
	raw, jsonErr := json.Marshal(err.Problem())
	want := `{"title":"Too Many Requests","status":429,"detail":"slow down","code":"rate_limited","reason":"primary","hint":"wait","retry_after_seconds":7}`
	if string(raw) != want || jsonErr != nil {
		t.Errorf("Problem() = %s (%v), want %s", raw, jsonErr, want)
	}
	var p api.Problem
	if jsonErr := json.Unmarshal(raw, &p); jsonErr != nil {
		t.Fatal(jsonErr)
	}
	back := p.Error()
	if back.Text() != err.Text() || back.Reason != err.Reason || back.Err != nil {
		t.Errorf("Error() = %+v, want %+v without its cause", back, err)
	}
}
