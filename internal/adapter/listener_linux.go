package adapter

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"
)

// The kernel's tables of TCP sockets; see proc_pid_net(5).
const (
	tcp4Table = "/proc/self/net/tcp"
	tcp6Table = "/proc/self/net/tcp6"
)

// stateListen is TCP_LISTEN in the tables.
const stateListen = "0A"

// checkListener fails with a *foreignError unless the socket that listens on address was made by
// our user: on a machine with several users, whoever takes the port first would be handed the
// token.
//
// It looks at who listens now, which need not be who took this very connection: where a foreign
// program listened, took it, and gave way to ours since, the look comes too late.
func checkListener(address *net.TCPAddr) error {
	ip, _ := netip.AddrFromSlice(address.IP)
	at := netip.AddrPortFrom(ip.Unmap(), uint16(address.Port))
	// The listener may end between our connect and this look, and the tables are read in pieces.
	for range 3 {
		uid, found, err := owner(at)
		switch {
		case err != nil:
			return fmt.Errorf("see who listens on %s: %w", at, err)
		case found && uid != os.Getuid():
			return &foreignError{at.String(), uid}
		case found:
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return &unreachableError{errors.New("nobody listens on " + at.String() + " any more")}
}

// owner gives the user of the socket that listens on at. One bound to the very address gets the
// connections, as in the kernel; else one bound to every address.
func owner(at netip.AddrPort) (uid int, found bool, err error) {
	tables := []string{tcp6Table}
	if at.Addr().Is4() {
		tables = []string{tcp4Table, tcp6Table} // a socket bound to [::] takes IPv4 too
	}
	for _, table := range tables {
		file, err := os.Open(table)
		if errors.Is(err, os.ErrNotExist) && table == tcp6Table {
			continue // no IPv6 on this machine
		}
		if err != nil {
			return 0, false, err
		}
		uid, exact, wild, err := listening(bufio.NewScanner(piecemeal{file}), at)
		_ = file.Close()
		if err != nil || exact || wild {
			return uid, true, err
		}
	}
	return 0, false, nil
}

// piecemeal reads little at a time. The kernel makes as many rows as are asked for, and after
// the listening ones it searches a table of all connections for a millisecond or more.
type piecemeal struct{ file *os.File }

// Read implements io.Reader.
func (p piecemeal) Read(b []byte) (int, error) { return p.file.Read(b[:min(len(b), 128)]) }

// listening looks for at among the rows of sockets that listen, which come first.
func listening(rows *bufio.Scanner, at netip.AddrPort) (uid int, exact, wild bool, err error) {
	rows.Scan() // the heading
	for rows.Scan() {
		// sl, local_address, rem_address, st, queues, tr:tm, retrnsmt, uid
		row := strings.Fields(rows.Text())
		if len(row) < 8 || row[3] != stateListen {
			break
		}
		local, err := parseLocal(row[1])
		if err != nil {
			return 0, false, false, err
		}
		if local.Port() != at.Port() || local.Addr() != at.Addr() && !local.Addr().IsUnspecified() {
			continue
		}
		if uid, err = strconv.Atoi(row[7]); err != nil {
			return 0, false, false, err
		}
		if local.Addr() == at.Addr() {
			return uid, true, false, nil
		}
		wild = true
	}
	return uid, false, wild, rows.Err()
}

// parseLocal reads an address such as 0100007F:125C: words of 32 bits in the machine's order.
func parseLocal(text string) (netip.AddrPort, error) {
	host, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	if err != nil {
		return netip.AddrPort{}, err
	}
	for i := 0; i+4 <= len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	ip, ok := netip.AddrFromSlice(raw)
	number, err := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil {
		return netip.AddrPort{}, fmt.Errorf("unreadable address %q", text)
	}
	return netip.AddrPortFrom(ip.Unmap(), uint16(number)), nil
}
