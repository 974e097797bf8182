package server

import (
	"debug/buildinfo"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/jobfate/jobfate/internal/podtest"
)

var api *Server

func TestMain(m *testing.M) { os.Exit(Run(m, &api, 0, nil)) }

// With an empty file of authorities, a client would trust those of the system forever.
func TestReady_withoutACertificate(t *testing.T) {
	s := &Server{dir: t.TempDir()}
	NoError(t, os.MkdirAll(filepath.Dir(s.certificate()), 0o755))
	NoError(t, os.WriteFile(s.certificate(), nil, 0o600))
	if err := s.ready(t.Context()); err == nil || s.Client != nil {
		t.Errorf("got the error %v, want one, and no client", err)
	}
}

// The flag -kubernetes chooses the release of the API server and of the built-in controllers.
func TestRelease(t *testing.T) {
	want := "v" + *release
	if *release == "" {
		own := Must(os.ReadFile("../../go.mod"))
		want = regexp.MustCompile(`k8s\.io/kubernetes (v\S+)`).FindStringSubmatch(string(own))[1]
	}
	for _, program := range []string{api.apiProgram, api.collector.program} {
		info := Must(buildinfo.ReadFile(program))
		Same(t, "the version of "+info.Path, info.Main.Version, want)
	}
}
