package server

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// port is a reserved TCP port of 127.0.0.1. A socket is bound to it and never listens. A
// program that uses port sharing, as kube-apiserver does with --permit-port-sharing, can listen
// on it, also after a restart, and no other process gets it.
type port struct {
	number int
	socket *os.File
}

func newPort() (port, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return port{}, fmt.Errorf("making a socket: %w", err)
	}
	p := port{socket: os.NewFile(uintptr(fd), "port")}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		p.close()
		return port{}, fmt.Errorf("sharing a port: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		p.close()
		return port{}, fmt.Errorf("binding a port: %w", err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		p.close()
		return port{}, fmt.Errorf("reading the number of a port: %w", err)
	}
	p.number = name.(*unix.SockaddrInet4).Port
	return p, nil
}

func (p port) close() { p.socket.Close() }
