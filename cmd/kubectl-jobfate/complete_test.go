//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/jobfate/jobfate/internal/podtest"
)

// TestKubectlCompletes runs the program that kubectl runs to complete arguments.
func TestKubectlCompletes(t *testing.T) {
	folder := t.TempDir()
	kubectl := "#!/bin/sh\nprintf '%s|' \"$@\"\n"
	NoError(t, os.WriteFile(filepath.Join(folder, "kubectl"), []byte(kubectl), 0o755))
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	out, err := exec.Command("./kubectl_complete-jobfate", "simulate", "a b").Output()
	if want := "jobfate|__complete|simulate|a b|"; err != nil || string(out) != want {
		t.Errorf("got %q and %v, want kubectl to run with %q", out, err, want)
	}
}
