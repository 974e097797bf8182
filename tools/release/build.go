package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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
func (r *release) build(platforms []string) error {
	files := r.path("files")
	var plugins []archive
	for _, platform := range platforms {
		system, arch, _ := strings.Cut(platform, "/")
		for _, program := range programs {
			binary, err := r.install(program.path, system, arch)
			if err != nil {
				return err
			}
			name := fmt.Sprintf("%s-%s-%s", filepath.Base(program.path), system, arch)
			others := r.path("licences", name, "THIRD_PARTY_LICENSES")
			if err := r.bom(binary, filepath.Join(files, name+".cdx.json"), others); err != nil {
				return err
			}
			inside := []string{binary, others}
			for _, file := range program.files {
				inside = append(inside, r.path("repository", file))
			}
			if err := pack(filepath.Join(files, name+".tar.gz"), inside); err != nil {
				return err
			}
			if strings.HasSuffix(program.path, "kubectl-jobfate") {
				sum, err := checksum(filepath.Join(files, name+".tar.gz"))
				if err != nil {
					return err
				}
				plugins = append(plugins, archive{system, arch, name + ".tar.gz", sum})
			}
		}
	}
	manifest, err := os.Create(filepath.Join(files, "jobfate.yaml"))
	if err != nil {
		return err
	}
	defer manifest.Close()
	err = template.Must(template.New("").Parse(krew)).
		Execute(manifest, map[string]any{"Version": r.version, "Archives": plugins})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(files, "Dockerfile"), dockerfile, 0o644); err != nil {
		return err
	}
	return checksums(files)
}

// env is the environment of a user of the release: the module cache has none of our modules, and
// they come from the proxy of the release alone. The go command must not use its index of an
// earlier release in the same folder.
func (r *release) env(more ...string) []string {
	return append(os.Environ(), append([]string{"GODEBUG=goindex=0", "GOWORK=off", "GOFLAGS=-modcacherw",
		"GONOSUMDB=" + ours, "GOBIN=",
		"GOPROXY=file://" + r.path("proxy") + "," + r.goproxy,
		"GOMODCACHE=" + r.path("modcache"), "GOPATH=" + r.path("gopath")}, more...)...)
}

// install installs a command as its users do, for any platform.
func (r *release) install(path, system, arch string) (binary string, err error) {
	c := exec.Command("go", "install", "-trimpath", "-ldflags=-s -w", ours+"/"+path+"@"+r.version)
	c.Dir = r.folder
	c.Env = r.env("CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
	if _, err := outputOf(c); err != nil {
		return "", err
	}
	name := filepath.Base(path)
	if system == "windows" {
		name += ".exe"
	}
	// A binary for another platform is in a folder of its own.
	for _, folder := range []string{system + "_" + arch, ""} {
		binary = r.path("gopath", "bin", folder, name)
		info, err := buildinfo.ReadFile(binary)
		if err == nil && hasSetting(info, "GOOS", system) && hasSetting(info, "GOARCH", arch) {
			return binary, nil
		}
	}
	return "", fmt.Errorf("go install has not made %s", binary)
}

func hasSetting(info *buildinfo.BuildInfo, key, value string) bool {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value == value
		}
	}
	return false
}

// bom writes a software bill of materials: the modules that a binary says it is built from; and their
// licences.
func (r *release) bom(binary, file, licences string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	goroot, err := output("", "go", "env", "GOROOT")
	if err != nil {
		return err
	}
	var texts strings.Builder
	var parts []cyclonedx.Component
	add := func(path, version, sum, folder string) error {
		expression, text, err := licence(path, folder)
		texts.WriteString(text)
		c := component(cyclonedx.ComponentTypeLibrary, path, version, sum)
		c.Licenses = &cyclonedx.Licenses{{Expression: expression}}
		parts = append(parts, c)
		return err
	}
	if err := add("std", info.GoVersion, "", goroot); err != nil {
		return err
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			return fmt.Errorf("%s replaces %s", binary, m.Path)
		}
		path, err := module.EscapePath(m.Path)
		if err != nil {
			return err
		}
		if err := add(m.Path, m.Version, m.Sum, r.path("modcache", path+"@"+m.Version)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(licences), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(licences, []byte(texts.String()), 0o644); err != nil {
		return err
	}
	whole := component(cyclonedx.ComponentTypeApplication, info.Path, info.Main.Version, info.Main.Sum)
	b := cyclonedx.NewBOM()
	b.Metadata, b.Components = &cyclonedx.Metadata{Component: &whole}, &parts
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	return cyclonedx.NewBOMEncoder(out, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(b)
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
func pack(name string, files []string) error {
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	defer out.Close()
	compressed := gzip.NewWriter(out)
	packed := tar.NewWriter(compressed)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		mode := int64(0o755)
		if strings.Contains(filepath.Base(file), "LICENSE") {
			mode = 0o644
		}
		head := &tar.Header{Name: filepath.Base(file), Mode: mode, Size: int64(len(content)), ModTime: time.Unix(0, 0)}
		if err := packed.WriteHeader(head); err != nil {
			return err
		}
		if _, err := packed.Write(content); err != nil {
			return err
		}
	}
	if err := packed.Close(); err != nil {
		return err
	}
	return compressed.Close()
}

func checksum(file string) (string, error) {
	in, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer in.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, in); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

// checksums writes the checksums of the files of a folder, as sha256sum does.
func checksums(folder string) error {
	names, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		return err
	}
	slices.Sort(names)
	var lines strings.Builder
	for _, name := range names {
		sum, err := checksum(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%s  %s\n", sum, filepath.Base(name))
	}
	return os.WriteFile(filepath.Join(folder, "checksums.txt"), []byte(lines.String()), 0o644)
}
