package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"syscall"
)

// follow says how reports do not repeat the paths that were asked for. See reports_follow in the
// schema of toolsets.
func (s *step) follow(ctx context.Context, raw json.RawMessage, asked any) *failure {
	var reports []struct {
		Type *string `json:"type"`
		Path string  `json:"path"`
	}
	if err := json.Unmarshal(raw, &reports); err != nil {
		return &failure{text: "the reports have no paths"}
	}
	paths, _ := asked.([]any)
	earlier := files{names: map[any]bool{}, ids: map[fileID]bool{}}
	for i, path := range paths {
		if ctx.Err() != nil {
			return &failure{text: "the command had ended, but its reports were not checked in time"}
		}
		if repeated := earlier.add(path); len(reports) > 0 && reports[0].Type != nil && reports[0].Path == path {
			reports = reports[1:]
		} else if !repeated {
			return &failure{text: fmt.Sprintf("the reports do not follow the paths: path %d has none in its place", i+1)}
		}
	}
	if len(reports) > 1 || len(reports) == 1 && reports[0].Type != nil {
		return &failure{text: "there are reports about paths that nobody asked for"}
	}
	return nil
}

// files are those that paths lead to, each looked up once.
type files struct {
	names map[any]bool
	ids   map[fileID]bool
}

type fileID struct{ device, inode uint64 }

// add says whether path, or another one that leads to the same file, has been added before.
func (f files) add(path any) bool {
	if f.names[path] {
		return true
	}
	f.names[path] = true
	st, err := os.Stat(fmt.Sprint(path))
	if err != nil {
		return false
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	id := fileID{uint64(sys.Dev), uint64(sys.Ino)}
	known := f.ids[id]
	f.ids[id] = true
	return known
}
