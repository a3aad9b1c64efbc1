package bridge

import "net/netip"

// reach is how far an address lies.
type reach int

const (
	reachElsewhere reach = iota // link-local (where clouds keep their metadata), multicast, reserved …
	reachLoopback
	reachPrivate
	reachPublic
)

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

func within(a netip.Addr, list []netip.Prefix) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// reachOf sorts an address by the IANA registries of special-purpose addresses (RFC 6890). What
// they don't call globally reachable isn't public.
func reachOf(a netip.Addr) reach {
	a = a.Unmap()
	if a.Zone() != "" {
		return reachElsewhere
	}
	if a.IsLoopback() {
		return reachLoopback
	}
	if a.IsPrivate() || within(a, prefixes("100.64.0.0/10")) { // shared address space, RFC 6598: private networks use it
		return reachPrivate
	}
	if a.Is4() {
		if within(a, prefixes("0.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24",
			"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3")) {
			return reachElsewhere
		}
		return reachPublic
	}
	// NAT64 (RFC 6052): the last four bytes are the address that is meant.
	if within(a, prefixes("64:ff9b::/96")) {
		b := a.As16()
		if reachOf(netip.AddrFrom4([4]byte(b[12:]))) == reachPublic {
			return reachPublic
		}
		return reachElsewhere
	}
	if !within(a, prefixes("2000::/3")) || within(a, prefixes("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")) {
		return reachElsewhere
	}
	return reachPublic
}
