package main

import (
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"sigs.k8s.io/yaml"
)

// manifest is a krew manifest.
type manifest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string `json:"version"`
		Homepage         string `json:"homepage"`
		ShortDescription string `json:"shortDescription"`
		Description      string `json:"description"`
		Caveats          string `json:"caveats"`
		Platforms        []struct {
			Selector struct {
				MatchLabels struct {
					OS   string `json:"os"`
					Arch string `json:"arch"`
				} `json:"matchLabels"`
			} `json:"selector"`
			URI    string `json:"uri"`
			SHA256 string `json:"sha256"`
			Bin    string `json:"bin"`
		} `json:"platforms"`
	} `json:"spec"`
}

// plug installs the plugin as krew does: it reads the manifest, compares the checksum, unpacks the
// archive and runs the program, by the name by which kubectl finds it.
func (r *release) plug() {
	text := must(os.ReadFile(r.path("files", "jobfate.yaml")))
	var m manifest
	check(yaml.UnmarshalStrict(text, &m))
	const longest = 50 // krew's index accepts no longer description
	if m.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || m.Kind != "Plugin" ||
		m.Metadata.Name != "jobfate" || m.Spec.Version != r.version ||
		m.Spec.ShortDescription == "" || len(m.Spec.ShortDescription) > longest {
		log.Fatalf("krew would refuse\n%s", text)
	}
	for _, p := range m.Spec.Platforms {
		if p.Selector.MatchLabels.OS != runtime.GOOS || p.Selector.MatchLabels.Arch != runtime.GOARCH {
			continue
		}
		archive := r.path("files", filepath.Base(p.URI))
		if sum := checksum(archive); sum != p.SHA256 {
			log.Fatalf("the checksum of %s is %s, not %s", archive, sum, p.SHA256)
		}
		folder := r.path("plugin")
		check(os.Mkdir(folder, 0o755))
		must(output(folder, "tar", "xzf", archive))
		out := must(outputOf(exec.Command(filepath.Join(folder, p.Bin), "--version")))
		if p.Bin != "kubectl-jobfate" || !strings.HasPrefix(out, "kubectl jobfate "+r.version+" ") {
			log.Fatalf("%s is not %s: %s", p.Bin, r.version, out)
		}
		return
	}
	log.Fatal("the manifest has no archive for this platform")
}
