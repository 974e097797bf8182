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
	{"", []string{"decide", "machine", "indexset", "backoff", "failurepolicy", "tracking", "validation",
		"validation/defaulting", "jobstatus", "explain", "group", "group/jobs"}},
	{"jobtest", []string{"jobtest", "jobtest/cluster", "jobtest/chaos", "jobtest/explore"}},
	{"jobtest/kube", []string{"jobtest/kube", "jobtest/kube/chaos"}},
	{"controller", []string{"controller", "controller/live"}},
	{"cmd", []string{"cmd/diagnose"}},
}

// rehearse uses the release as its users do, from nothing but its proxy and the public one: each
// package in a module of its own with the oldest Go and the oldest libraries; the packages of each module
// in one module, also with the newest; a clone in the place of the library; and every go get and go install of
// the documents.
func (r *release) rehearse(newest []string) {
	r.plug()
	must(output("", "go", "build", "-o", r.path("typecheck"), "./typecheck"))
	var work errgroup.Group
	work.SetLimit(2)
	do := func(f func()) { work.Go(func() error { f(); return nil }) }
	for _, m := range imported {
		mod := must(os.ReadFile(r.path("repository", m.module, "go.mod")))
		oldest := "go" + must(modfile.ParseLax("go.mod", mod, nil)).Go.Version
		for _, p := range m.packages {
			do(func() { r.use(user{m.module, []string{p}, oldest, nil}, "go", "list", "-deps") })
		}
		do(func() { r.use(user{m.module, m.packages, oldest, nil}, r.path("typecheck"), ".") })
		do(func() { r.use(user{m.module, m.packages, "local", newest}, "go", "build") })
	}
	do(r.replace)
	lines := r.lines()
	for i, line := range lines {
		do(func() { r.follow(fmt.Sprint("documented-", i), line) })
	}
	check(work.Wait())
	fmt.Printf("%d modules and %d lines of the documents use the release\n", r.used.Load(), len(lines))
}

// user is a module that imports packages of one of ours.
type user struct {
	module    string
	packages  []string
	toolchain string
	upgrades  []string // newer versions of the libraries that it requires
}

// library returns the import path of a folder.
func library(folder string) string { return strings.TrimSuffix(ours+"/"+folder, "/") }

// use makes a user, and runs a command that checks it.
func (r *release) use(u user, checks ...string) {
	folder := filepath.Join("users", u.toolchain, filepath.Base(checks[0]), library(u.packages[0]))
	run := r.empty(folder, u.toolchain)
	run("go", "mod", "init", "example.com/user")
	source := "package user\n\n"
	for _, p := range u.packages {
		source += fmt.Sprintf("import _ %q\n", library(p))
	}
	check(os.WriteFile(r.path(folder, "user.go"), []byte(source), 0o644))
	run("go", "get", library(u.module))
	if len(u.upgrades) > 0 {
		run(append([]string{"go", "get"}, r.required(u)...)...)
	}
	run("go", "mod", "tidy")
	if len(u.upgrades) > 0 { // all packages of a module: what each of them vendors is among it
		run("go", "mod", "vendor")
	}
	run(checks...)
	r.used.Add(1)
}

// replace uses the library without a release, as README.md says.
func (r *release) replace() {
	run := r.empty("users/clone", "local")
	run("go", "mod", "init", "example.com/user")
	source := fmt.Sprintf("package user\n\nimport _ %q\n", library("decide"))
	check(os.WriteFile(r.path("users/clone/user.go"), []byte(source), 0o644))
	run("go", "mod", "edit", "-require="+ours+"@v0.0.0", "-replace="+ours+"="+r.path("repository"))
	run("go", "mod", "tidy")
	run("go", "build")
	r.used.Add(1)
}

// required returns the upgrades of a user that our module requires.
func (r *release) required(u user) (upgrades []string) {
	mod := must(os.ReadFile(r.path("repository", u.module, "go.mod")))
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
func (r *release) follow(name string, line []string) {
	folder, arguments := filepath.Join("users", name), strings.Fields(line[2])
	if line[1] != "" {
		folder = filepath.Join("repository", line[1])
	}
	run := r.empty(folder, "local")
	if arguments[0] == "get" {
		run("go", "mod", "init", "example.com/user")
	}
	run(append([]string{"go"}, arguments...)...)
}

// empty makes an empty folder, unless it is there, and returns a function that runs commands there with a version of
// Go.
func (r *release) empty(folder, toolchain string) (run func(...string)) {
	folder = r.path(folder)
	check(os.MkdirAll(folder, 0o755))
	root := exec.Command("go", "env", "GOROOT")
	root.Env = append(os.Environ(), "GOTOOLCHAIN="+toolchain)
	goroot := must(outputOf(root))
	return func(args ...string) {
		c := exec.Command("env", args...) // which looks for go in this PATH
		c.Dir = folder
		c.Env = r.env("GOTOOLCHAIN=local", "GOFLAGS=-modcacherw -trimpath", "GOROOT="+goroot,
			"PATH="+filepath.Join(goroot, "bin")+":"+os.Getenv("PATH"))
		must(outputOf(c))
	}
}
