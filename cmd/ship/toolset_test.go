package main

import (
	"strings"
	"testing"

	"fleet/api"
	"fleet/internal/atlas"
)

func TestREADMEsToolsetsAreOnesThatAnAtlasTakes(t *testing.T) {
	found := 0
	for _, text := range blocks(t, "json") {
		if !strings.HasPrefix(text, `"toolsets"`) {
			continue
		}
		found++
		file, err := atlas.Parse([]byte(`{"fleet":1,"port":1,"repos":{},` + text + `}`))
		if err != nil || len(file.Toolsets) != 3 {
			t.Errorf("README's toolsets: %+v, %v", file, err)
		}
	}
	if found != 1 {
		t.Errorf("README lists toolsets %d times, want once", found)
	}
}

func TestStatusOfAnEarlierShipHasAnEmptyListOfToolsets(t *testing.T) {
	var out strings.Builder
	a := &app{stdout: &out, json: true}
	if err := a.print(statusOf(api.Ship{}, api.Workspaces{}), nil); err != nil || !strings.Contains(out.String(), `"toolsets": []`) {
		t.Errorf("%v, %s", err, out.String())
	}
}
