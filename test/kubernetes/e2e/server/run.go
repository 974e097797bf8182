package server

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
)

// Run runs the tests of a package on their own server, for TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(server.Run(m, &api, 8, nil)) }
//
// It stores the server in api, and runs that many tests at once; 0 means the default. The function starts the
// controllers that the tests share. If all tests pass the logs are removed; otherwise it prints where they are.
func Run(m *testing.M, api **Server, atOnce int, ready func(context.Context, *Server) error) int {
	flag.Parse()
	if atOnce > 0 {
		if err := flag.Set("test.parallel", strconv.Itoa(atOnce)); err != nil {
			panic(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := Start(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	*api = s
	if ready != nil {
		if err := ready(ctx, s); err != nil {
			fmt.Fprintln(os.Stderr, err, s.Stop())
			return 1
		}
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
