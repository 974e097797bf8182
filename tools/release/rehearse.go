package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/sync/errgroup"
)

// imported lists the packages that users import, by module.
var imported = []struct {
	module   string
	packages []string
}{
	{"", []string{"", "indexset", "backoff", "failurepolicy", "tracking", "validation", "jobstatus", "explain",
		"group"}},
	{"cluster", []string{"cluster"}},
	{"jobtest", []string{"jobtest", "jobtest/chaos", "jobtest/explore"}},
	{"jobtest/kube", []string{"jobtest/kube", "jobtest/kube/chaos"}},
	{"jobtest/live", []string{"jobtest/live"}},
	{"controller", []string{"controller"}},
}

// rehearse uses the release as its users do, from nothing but its proxy and the public one: each
// package in a program of its own, with the oldest Go and the oldest libraries, and with the
// newest; and every go get and go install of the documents.
func (r *release) rehearse(newest []string) {
	r.plug()
	var work errgroup.Group
	work.SetLimit(2)
	for _, m := range imported {
		mod := must(os.ReadFile(r.path("repository", m.module, "go.mod")))
		oldest := "go" + must(modfile.ParseLax("go.mod", mod, nil)).Go.Version
		for _, p := range m.packages {
			work.Go(func() error { return r.use(user{m.module, p, oldest, nil}) })
			work.Go(func() error { return r.use(user{m.module, p, "local", newest}) })
		}
	}
	lines := r.lines()
	for i, line := range lines {
		work.Go(func() error { return r.follow(fmt.Sprint("documented-", i), line) })
	}
	check(work.Wait())
	fmt.Printf("%d programs and %d lines of the documents use the release\n", r.used.Load(), len(lines))
}

// user is a program that imports one of our packages.
type user struct {
	module, pkg string
	toolchain   string
	upgrades    []string // newer versions of the libraries that it requires
}

// library returns the import path of a folder.
func library(folder string) string { return strings.TrimSuffix(ours+"/"+folder, "/") }

func (r *release) use(u user) error {
	folder := filepath.Join("users", u.toolchain, library(u.pkg))
	run, err := r.empty(folder, u.toolchain)
	if err != nil {
		return err
	}
	if err := run("mod", "init", "example.com/user"); err != nil {
		return err
	}
	program := fmt.Sprintf("package main\n\nimport _ %q\n\nfunc main() {}\n", library(u.pkg))
	if err := os.WriteFile(r.path(folder, "main.go"), []byte(program), 0o644); err != nil {
		return err
	}
	steps := [][]string{{"get", library(u.module)}}
	if len(u.upgrades) > 0 {
		steps = append(steps, append([]string{"get"}, r.required(u)...))
	}
	steps = append(steps, []string{"mod", "tidy"}, []string{"build", "-o", os.DevNull, "."}, []string{"mod", "vendor"},
		[]string{"build", "-o", os.DevNull, "."})
	for _, step := range steps {
		if err := run(step...); err != nil {
			return err
		}
	}
	r.used.Add(1)
	return nil
}

// required returns the upgrades of a user that our module requires.
func (r *release) required(u user) (upgrades []string) {
	mod, _ := os.ReadFile(r.path("repository", u.module, "go.mod")) // without it, use has failed
	for _, upgrade := range u.upgrades {
		if path, _, _ := strings.Cut(upgrade, "@"); strings.Contains(string(mod), path+" v") {
			upgrades = append(upgrades, upgrade)
		}
	}
	return upgrades
}

var documented = regexp.MustCompile(`\bgo (?:-C (\S+) )?((?:get|install) [^\s` + "`" + `#]+)`)

// lines returns each go get and go install of the documents.
func (r *release) lines() (lines [][]string) {
	names := must(output(r.path("repository"), "git", "ls-files", "*.md", "*/doc.go", "doc.go"))
	seen := map[string]bool{}
	for name := range strings.SplitSeq(names, "\n") {
		text := must(os.ReadFile(r.path("repository", name)))
		for _, line := range documented.FindAllStringSubmatch(string(text), -1) {
			if !seen[line[0]] {
				seen[line[0]] = true
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// follow runs a line of the documents: in an empty folder or, if it names a folder, in the clone.
func (r *release) follow(name string, line []string) error {
	folder, arguments := filepath.Join("users", name), strings.Fields(line[2])
	if line[1] != "" {
		folder = filepath.Join("repository", line[1])
	}
	run, err := r.empty(folder, "local")
	if err != nil {
		return err
	}
	if arguments[0] == "get" {
		if err := run("mod", "init", "example.com/user"); err != nil {
			return err
		}
	}
	return run(arguments...)
}

// empty makes an empty folder, unless it is there, and returns a function that runs a version of the go command there.
func (r *release) empty(folder, toolchain string) (run func(...string) error, err error) {
	folder = r.path(folder)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	root := exec.Command("go", "env", "GOROOT")
	root.Env = append(os.Environ(), "GOTOOLCHAIN="+toolchain)
	goroot, err := outputOf(root)
	if err != nil {
		return nil, err
	}
	return func(args ...string) error {
		c := exec.Command(filepath.Join(goroot, "bin", "go"), args...)
		c.Dir = folder
		c.Env = r.env("GOTOOLCHAIN=local", "GOFLAGS=-modcacherw -trimpath", "GOROOT="+goroot)
		_, err := outputOf(c)
		return err
	}, nil
}
