package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"golang.org/x/mod/module"

	_ "embed"
)

//go:embed krew.yaml
var krew string

//go:embed Dockerfile
var dockerfile []byte

// programs lists the packages of the commands, and the files beside them in their archives.
var programs = []struct {
	path  string
	files []string
}{
	{"cmd/jobfate", []string{"LICENSE"}},
	{"cmd/kubectl-jobfate", []string{"LICENSE", "cmd/kubectl-jobfate/kubectl_complete-jobfate"}},
	{"controller/jobfate-controller", []string{"LICENSE"}},
}

// archive is a file of the release.
type archive struct{ OS, Arch, Name, SHA256 string }

// build builds the commands from the proxy, for each platform, and the files made from them.
func (r *release) build(platforms []string) {
	files := r.path("files")
	var plugins []archive
	for _, platform := range platforms {
		system, arch, _ := strings.Cut(platform, "/")
		for _, program := range programs {
			binary := r.install(program.path, system, arch)
			name := fmt.Sprintf("%s-%s-%s", filepath.Base(program.path), system, arch)
			others := r.path("licences", name, "THIRD_PARTY_LICENSES")
			r.bom(binary, filepath.Join(files, name+".cdx.json"), others)
			inside := []string{binary, others}
			for _, file := range program.files {
				inside = append(inside, r.path("repository", file))
			}
			name += ".tar.gz"
			pack(filepath.Join(files, name), inside)
			if strings.HasSuffix(program.path, "kubectl-jobfate") {
				plugins = append(plugins, archive{system, arch, name, checksum(filepath.Join(files, name))})
			}
		}
	}
	manifest := must(os.Create(filepath.Join(files, "jobfate.yaml")))
	defer manifest.Close()
	check(template.Must(template.New("").Parse(krew)).
		Execute(manifest, map[string]any{"Version": r.version, "Archives": plugins}))
	check(os.WriteFile(filepath.Join(files, "Dockerfile"), dockerfile, 0o644))
	checksums(files)
}

// env is the environment of a user of the release: the module cache has none of our modules, and
// they come from the proxy of the release alone. The go command must not use its index of an
// earlier release in the same folder.
func (r *release) env(more ...string) []string {
	return append(os.Environ(), append([]string{"GODEBUG=goindex=0", "GOWORK=off", "GOFLAGS=-modcacherw",
		"GONOSUMDB=" + ours, "GOBIN=", "CGO_ENABLED=0",
		"GOPROXY=file://" + r.path("proxy") + "," + r.goproxy,
		"GOMODCACHE=" + r.path("modcache"), "GOPATH=" + r.path("gopath")}, more...)...)
}

// install installs a command as its users do, for any platform.
func (r *release) install(path, system, arch string) (binary string) {
	c := exec.Command("go", "install", "-trimpath", "-ldflags=-s -w", ours+"/"+path+"@"+r.version)
	c.Dir = r.folder
	c.Env = r.env("GOOS="+system, "GOARCH="+arch)
	must(outputOf(c))
	name := filepath.Base(path)
	if system == "windows" {
		name += ".exe"
	}
	// A binary for another platform is in a folder of its own.
	onSystem := debug.BuildSetting{Key: "GOOS", Value: system}
	onArch := debug.BuildSetting{Key: "GOARCH", Value: arch}
	for _, folder := range []string{system + "_" + arch, ""} {
		binary = r.path("gopath", "bin", folder, name)
		info, err := buildinfo.ReadFile(binary)
		if err == nil && slices.Contains(info.Settings, onSystem) && slices.Contains(info.Settings, onArch) {
			return binary
		}
	}
	log.Fatalf("go install has not made %s", binary)
	return ""
}

// bom writes a software bill of materials: the modules that a binary says it is built from; and their
// licences.
func (r *release) bom(binary, file, licences string) {
	info := must(buildinfo.ReadFile(binary))
	var texts strings.Builder
	var parts []cyclonedx.Component
	add := func(path, version, sum, folder string) {
		expression, text, err := licence(path, folder)
		check(err)
		texts.WriteString(text)
		c := component(cyclonedx.ComponentTypeLibrary, path, version, sum)
		c.Licenses = &cyclonedx.Licenses{{Expression: expression}}
		parts = append(parts, c)
	}
	add("std", info.GoVersion, "", must(output("", "go", "env", "GOROOT")))
	for _, m := range info.Deps {
		if m.Replace != nil {
			log.Fatalf("%s replaces %s", binary, m.Path)
		}
		add(m.Path, m.Version, m.Sum, r.path("modcache", must(module.EscapePath(m.Path))+"@"+m.Version))
	}
	check(os.MkdirAll(filepath.Dir(licences), 0o755))
	check(os.WriteFile(licences, []byte(texts.String()), 0o644))
	whole := component(cyclonedx.ComponentTypeApplication, info.Path, info.Main.Version, info.Main.Sum)
	b := cyclonedx.NewBOM()
	b.Metadata, b.Components = &cyclonedx.Metadata{Component: &whole}, &parts
	out := must(os.Create(file))
	defer out.Close()
	check(cyclonedx.NewBOMEncoder(out, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(b))
}

func component(kind cyclonedx.ComponentType, path, version, sum string) cyclonedx.Component {
	url := "pkg:golang/" + path + "@" + version
	c := cyclonedx.Component{BOMRef: url, Type: kind, Name: path, Version: version, PackageURL: url}
	if sum != "" {
		c.Properties = &[]cyclonedx.Property{{Name: "go.sum", Value: sum}}
	}
	return c
}

// pack makes an archive whose bytes depend only on the content of the files.
func pack(name string, files []string) {
	out := must(os.Create(name))
	defer out.Close()
	compressed := gzip.NewWriter(out)
	packed := tar.NewWriter(compressed)
	for _, file := range files {
		content := must(os.ReadFile(file))
		mode := int64(0o755)
		if strings.Contains(filepath.Base(file), "LICENSE") {
			mode = 0o644
		}
		head := &tar.Header{Name: filepath.Base(file), Mode: mode, Size: int64(len(content)), ModTime: time.Unix(0, 0)}
		check(packed.WriteHeader(head))
		must(packed.Write(content))
	}
	check(packed.Close())
	check(compressed.Close())
}

func checksum(file string) string { return fmt.Sprintf("%x", sha256.Sum256(must(os.ReadFile(file)))) }

// checksums writes the checksums of the files of a folder, as sha256sum does.
func checksums(folder string) {
	var lines strings.Builder
	for _, name := range must(filepath.Glob(filepath.Join(folder, "*"))) { // sorted
		fmt.Fprintf(&lines, "%s  %s\n", checksum(name), filepath.Base(name))
	}
	check(os.WriteFile(filepath.Join(folder, "checksums.txt"), []byte(lines.String()), 0o644))
}
