package bridge

import (
	"strings"
	"testing"
)

// One in some 1500 of the bridge's own ship credentials has no digit.
func TestAShipCredentialWithoutDigitsIsKnownToo(t *testing.T) {
	for _, secret := range []string{
		"fleet_ship_" + strings.Repeat("aBcDeFgHiJk", 4)[:43],
		"fleet_ship_" + strings.Repeat("aB-_eFgHiJk", 4)[:43],
	} {
		if !holdsCredential("x " + secret) {
			t.Errorf("%s is taken for a word", secret)
		}
	}
	missed := 0
	for range 20_000 {
		if !holdsCredential(mintShipCredential().Reveal()) {
			missed++
		}
	}
	if missed > 0 {
		t.Errorf("%d of 20000 minted credentials are not known", missed)
	}
}
