package server

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// Run runs the tests of a package on their own server, for TestMain:
//
//	func TestMain(m *testing.M) {
//		os.Exit(server.Run(m, func(ctx context.Context, s *server.Server) error { … }))
//	}
//
// The function stores the server for the tests and starts the controllers that they share.
// If all tests pass the logs are removed; otherwise it prints where they are.
func Run(m *testing.M, ready func(context.Context, *Server) error) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := Start(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := ready(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, err, s.Stop())
		return 1
	}
	code := m.Run()
	if err := s.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if code != 0 {
		fmt.Fprintln(os.Stderr, "the logs:", s.Dir())
		return code
	}
	os.RemoveAll(s.Dir())
	return 0
}

// RunInTurn runs the tests of a package that start servers themselves, for TestMain.
func RunInTurn(m *testing.M) int {
	unlock, err := Lock()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer unlock()
	return m.Run()
}
