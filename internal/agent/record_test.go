package agent

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fleet/api"
	"fleet/internal/atlas"
)

func FuzzRecordRoundTrip(f *testing.F) {
	f.Add("r", "w", "opus", "reading")
	f.Add("é b", "#(touch x)", "o'p`u$s;", `quote " and \ and #{x} and $HOME and %H`)
	f.Add("r", "w", "\u202eevil\u2066\u200b", "ships 🚢🏴\U000e0067\U0010ffff and \ufeff\ufffd \u2028 \u2029")
	f.Add("%41", "~", "<a>&", "\uffff\ue000~\u007e")
	f.Fuzz(func(t *testing.T, repo, name, model, description string) {
		id, err := atlas.NewID(repo, name)
		if err != nil {
			return
		}
		if cleanNames(&model, &model, &model) != nil || cleanDescription(&description) != nil {
			return
		}
		at := time.Date(2026, 7, 28, 1, 2, 3, 456789000, time.UTC)
		s := &api.AgentStatus{
			Repo: repo, Workspace: name, SessionID: uuid.Nil.String(), Model: model, Provider: model, Harness: model,
			State: api.Verifying, Description: description, StartedAt: at, UpdatedAt: at,
		}
		record := encode(s)
		if i := strings.IndexFunc(record, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune("'#$;`", r) }); i >= 0 {
			t.Errorf("encode = %q holds %q", record, record[i])
		}
		if got, err := decode(id, record); err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("decode(%q) = %+v, %v; want %+v", record, got, err, s)
		}
	})
}

func TestTheLongestRecordIsTaken(t *testing.T) {
	longest := strings.Repeat("🚢", 64)
	at := time.Now().UTC()
	id := atlas.ID{Repo: strings.Repeat("é", 64), Name: strings.Repeat("é", 64)}
	record := encode(&api.AgentStatus{
		Repo: id.Repo, Workspace: id.Name, SessionID: uuid.NewString(), Model: longest, Provider: longest, Harness: longest,
		State: api.Verifying, Description: strings.Repeat("🚢", 1000), StartedAt: at, UpdatedAt: at,
	})
	if _, err := decode(id, record); err != nil {
		t.Errorf("decode of the longest record, %d bytes = %v", len(record), err)
	}
}

func TestNoAgentIsNoRecord(t *testing.T) {
	if got := encode(nil); got != "" {
		t.Errorf("encode(nil) = %q, want nothing", got)
	}
}
