//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// manifest is a krew manifest, with the fields that the plugin uses.
type manifest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string     `json:"version"`
		Homepage         string     `json:"homepage"`
		ShortDescription string     `json:"shortDescription"`
		Description      string     `json:"description"`
		Caveats          string     `json:"caveats"`
		Platforms        []platform `json:"platforms"`
	} `json:"spec"`
}

type platform struct {
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
	URI    string `json:"uri"`
	SHA256 string `json:"sha256"`
	Bin    string `json:"bin"`
}

// TestRelease builds the release for this platform, and does what krew does: it reads the
// manifest, compares the checksum, unpacks the archive and runs the program. The script needs
// GNU tools.
func TestRelease(t *testing.T) {
	folder := t.TempDir()
	cgo, err := exec.Command("go", "env", "CGO_ENABLED").Output()
	if err != nil {
		t.Fatal(err)
	}
	const version, url = "v0.1.2", "https://example.com/v0.1.2"
	script := exec.Command("./release", version, folder, url)
	// Use the build flags of the tests, so that nothing is compiled twice.
	script.Env = append(os.Environ(), "PLATFORMS=linux/"+runtime.GOARCH, "GOFLAGS=", "CGO_ENABLED="+strings.TrimSpace(string(cgo)))
	if out, err := script.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(folder, "jobfate.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := yaml.UnmarshalStrict(text, &m); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	if m.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || m.Kind != "Plugin" || m.Metadata.Name != "jobfate" || m.Spec.Version != version ||
		len(m.Spec.ShortDescription) == 0 || len(m.Spec.ShortDescription) > 50 || len(m.Spec.Platforms) != 1 {
		t.Fatalf("got the manifest\n%s", text)
	}
	p := m.Spec.Platforms[0]
	archive, err := os.ReadFile(filepath.Join(folder, strings.TrimPrefix(p.URI, url+"/")))
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(archive); p.SHA256 != hex.EncodeToString(sum[:]) || p.Selector.MatchLabels["os"] != "linux" || p.Selector.MatchLabels["arch"] != runtime.GOARCH {
		t.Errorf("got %+v, want the sum %x", p, sum)
	}
	unpack(t, archive, folder)
	if p.Bin != "kubectl-jobfate" { // kubectl finds the plugin by this name
		t.Errorf("got the program %q", p.Bin)
	}
	out, err := exec.Command(filepath.Join(folder, p.Bin), "--version").Output()
	if want := regexp.MustCompile(`^kubectl jobfate v0\.1\.2 .*, decides as the Job controller of Kubernetes 1\.37\n$`); err != nil || !want.Match(out) {
		t.Errorf("got %q and %v, want it to match %s", out, err, want)
	}
}

func unpack(t *testing.T, archive []byte, folder string) {
	t.Helper()
	packed, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for files := tar.NewReader(packed); ; {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, head.Name)
		text, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(head.Name)), text, head.FileInfo().Mode()); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"LICENSE", "kubectl-jobfate", "kubectl_complete-jobfate"}; !slices.Equal(names, want) {
		t.Errorf("got the files %q, want %q", names, want)
	}
}

// TestKubectlCompletes runs the program that kubectl runs to complete arguments.
func TestKubectlCompletes(t *testing.T) {
	folder := t.TempDir()
	kubectl := "#!/bin/sh\nprintf '%s|' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(folder, "kubectl"), []byte(kubectl), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	out, err := exec.Command("./kubectl_complete-jobfate", "simulate", "a b").Output()
	if want := "jobfate|__complete|simulate|a b|"; err != nil || string(out) != want {
		t.Errorf("got %q and %v, want kubectl to run with %q", out, err, want)
	}
}
