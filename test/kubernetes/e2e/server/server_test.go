package server

import (
	"debug/buildinfo"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var api *Server

func TestMain(m *testing.M) { os.Exit(Run(m, &api, 0, nil)) }

// With an empty file of authorities, a client would trust those of the system forever.
func TestReady_withoutACertificate(t *testing.T) {
	s := &Server{dir: t.TempDir()}
	if err := os.MkdirAll(filepath.Dir(s.certificate()), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.certificate(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.ready(t.Context()); err == nil || s.Client != nil {
		t.Errorf("got the error %v, want one, and no client", err)
	}
}

// The flag -kubernetes chooses the release of the API server and of the built-in controllers.
func TestRelease(t *testing.T) {
	want := "v" + *release
	if *release == "" {
		own, err := os.ReadFile("../../go.mod")
		if err != nil {
			t.Fatal(err)
		}
		want = regexp.MustCompile(`k8s\.io/kubernetes (v\S+)`).FindStringSubmatch(string(own))[1]
	}
	for _, program := range []string{api.apiProgram, api.collector.program} {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Main.Version; got != want {
			t.Errorf("%s is of %s %s, want %s", info.Path, info.Main.Path, got, want)
		}
	}
}
