package server

import (
	"time"

	"golang.org/x/sys/unix"
)

// handshakeTime is many times what the kernel needs to end a handshake on loopback, where nobody is
// waited for: one system call of the client's does all of it.
const handshakeTime = 2 * time.Millisecond

// What a TCP header says of itself, RFC 9293 §3.1. A socket filter on a listening TCP socket sees
// a segment from that header on.
const (
	tcpFlags = 13
	flagSYN  = 0x02
	flagACK  = 0x10
)

// refuseHandshakes has the kernel drop whatever asks the listening socket for another connection:
// the asker's kernel asks again after a second, and meets a closed port, or the next ship.
// Handshakes that have begun end as ever: once it returns, those stand in the queue.
func refuseHandshakes(fd int) error {
	filter := [...]unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: tcpFlags},
		{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: flagSYN | flagACK},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: flagSYN, Jt: 0, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
		{Code: unix.BPF_RET | unix.BPF_K, K: 1 << 20}, // the whole segment
	}
	err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]})
	if err == nil {
		time.Sleep(handshakeTime)
	}
	return err
}
