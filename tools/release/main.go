// Command release makes a release of the modules of this repository into a folder. It publishes
// nothing.
//
//	go -C tools run ./release -version v0.1.0 -out FOLDER
//
// The folder then has
//
//	repository  a clone with the commit of the release and its tags, to be pushed
//	proxy       a module proxy with the release: GOPROXY=file://FOLDER/proxy
//	files       the archives of the commands, their checksums and SBOMs, the krew manifest, the
//	            Dockerfile, notes.md and api.txt
//
// The same commit gives the same bytes. With -rehearse the command then uses the release as its
// users do: see rehearse.go.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

// ours is the path of the main module.
const ours = "github.com/jobfate/jobfate"

// modules lists the folders of the modules of a release. Each requires only modules before it.
var modules = []string{"", "jobtest", "jobtest/kube", "controller", "cmd"}

const allPlatforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

// release is a release in the making.
type release struct {
	version string
	folder  string
	goproxy string // the public proxy
	date    string // of the commit that is released
	used    atomic.Int32
}

func main() {
	log.SetFlags(0)
	var (
		version   = flag.String("version", "", "the version of the release, such as v0.1.0")
		folder    = flag.String("out", "", "the folder to make, which must not exist")
		platforms = flag.String("platforms", allPlatforms, "those of the commands; empty: only the proxy")
		worktree  = flag.Bool("worktree", false, "release the working tree, with changes that are not committed")
		since     = flag.String("since", "", "the commit with whose API to compare; empty: the last release")
		rehearse  = flag.Bool("rehearse", false, "use the release as its users do")
		newest    = flag.String("newest", "", "newer `modules` to use it with, such as k8s.io/api@v0.37.2")
	)
	flag.Parse()
	r := &release{version: *version}
	r.make(*folder, *since, strings.FieldsFunc(*platforms, func(c rune) bool { return c == ',' }), *worktree)
	if *rehearse {
		r.rehearse(strings.Fields(*newest))
	}
}

// check ends the command if there is an error.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// must returns a value if there is no error.
func must[T any](v T, err error) T {
	check(err)
	return v
}

// make makes the release.
func (r *release) make(folder, since string, platforms []string, worktree bool) {
	if semver.Canonical(r.version) != r.version || r.version == "" {
		log.Fatalf("-version %q is not a version such as v0.1.0", r.version)
	}
	if folder == "" {
		log.Fatal("-out is missing")
	}
	r.folder = must(filepath.Abs(folder))
	for _, folder := range []string{"", "files"} {
		check(os.Mkdir(r.path(folder), 0o755))
	}
	root := must(output("", "git", "rev-parse", "--show-toplevel"))
	r.goproxy = must(output("", "go", "env", "GOPROXY"))
	r.clone(root, worktree)
	r.notes()
	r.compare(since)
	for i, folder := range modules {
		log.SetPrefix(fmt.Sprintf("module %q: ", folder))
		r.add(i)
	}
	log.SetPrefix("")
	r.tag()
	if len(platforms) > 0 {
		r.build(platforms)
	}
}

func (r *release) path(elements ...string) string {
	return filepath.Join(append([]string{r.folder}, elements...)...)
}

// git runs git in the clone. The author and the date of its commits do not depend on the run.
func (r *release) git(args ...string) error {
	c := exec.Command("git", args...)
	c.Dir = r.path("repository")
	c.Env = os.Environ()
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		c.Env = append(c.Env, "GIT_"+who+"_NAME=jobfate", "GIT_"+who+"_EMAIL=jobfate@users.noreply.github.com",
			"GIT_"+who+"_DATE="+r.date)
	}
	_, err := outputOf(c)
	return err
}

// clone clones the repository and adds the commit that the other steps amend.
func (r *release) clone(root string, worktree bool) {
	must(output("", "git", "clone", "-q", "--no-local", root, r.path("repository")))
	r.date = must(output(r.path("repository"), "git", "log", "-1", "--format=%cI"))
	check(r.git("checkout", "-q", "--detach"))
	check(r.git("--work-tree="+root, "add", "-A"))
	if r.git("diff", "--cached", "--quiet") != nil && !worktree {
		log.Fatal("the working tree has changes that are not committed")
	}
	check(r.git("commit", "-q", "--allow-empty", "-m", "Release "+r.version))
	check(r.git("reset", "-q", "--hard"))
}

// notes writes the section of the changelog about the version.
func (r *release) notes() {
	text := must(os.ReadFile(r.path("repository", "CHANGELOG.md")))
	_, below, found := strings.Cut(string(text), "\n## "+strings.TrimPrefix(r.version, "v")+"\n\n")
	if !found {
		log.Fatalf("CHANGELOG.md has no section about %s", r.version)
	}
	section, _, _ := strings.Cut(below, "\n## ")
	check(os.WriteFile(r.path("files", "notes.md"), []byte(section), 0o644))
}

// add makes a module require the modules before it in the version of the release, instead of
// replacing them with folders, and puts it into the proxy.
func (r *release) add(i int) {
	folder, m := modules[i], r.module(modules[i])
	own := r.path("repository", folder)
	r.require(own, modules[:i])
	check(r.git("commit", "-qa", "--allow-empty", "--amend", "--no-edit"))
	var archive bytes.Buffer
	check(zip.CreateFromVCS(&archive, m, r.path("repository"), "HEAD", folder))
	mod := must(os.ReadFile(filepath.Join(own, "go.mod")))
	info := fmt.Sprintf(`{"Version":%q,"Time":%q}`, r.version, r.date)
	at := r.path("proxy", m.Path, "@v")
	check(os.MkdirAll(at, 0o755))
	for name, content := range map[string][]byte{
		"list": []byte(r.version + "\n"), r.version + ".info": []byte(info), r.version + ".mod": mod,
		r.version + ".zip": archive.Bytes(),
	} {
		check(os.WriteFile(filepath.Join(at, name), content, 0o644))
	}
}

func (r *release) module(folder string) module.Version {
	return module.Version{Path: library(folder), Version: r.version}
}

// require rewrites the go.mod and go.sum of a module. required are the modules that are in the
// proxy.
func (r *release) require(folder string, required []string) {
	mod := must(modfile.Parse("go.mod", must(os.ReadFile(filepath.Join(folder, "go.mod"))), nil))
	for _, replace := range mod.Replace {
		check(mod.DropReplace(replace.Old.Path, replace.Old.Version))
	}
	sums := must(os.OpenFile(filepath.Join(folder, "go.sum"), os.O_APPEND|os.O_WRONLY, 0))
	defer sums.Close()
	for _, folder := range required {
		m := r.module(folder)
		if slices.ContainsFunc(mod.Require, func(old *modfile.Require) bool { return old.Mod.Path == m.Path }) {
			check(mod.AddRequire(m.Path, r.version))
			r.sum(sums, m)
		}
	}
	mod.Cleanup()
	text := must(mod.Format())
	if bytes.Contains(text, []byte(" v0.0.0\n")) {
		log.Fatalf("go.mod still requires v0.0.0:\n%s", text)
	}
	check(os.WriteFile(filepath.Join(folder, "go.mod"), text, 0o644))
}

// sum writes the lines of a go.sum for a module of the proxy.
func (r *release) sum(w io.Writer, m module.Version) {
	file := r.path("proxy", m.Path, "@v", m.Version)
	all := must(dirhash.HashZip(file+".zip", dirhash.Hash1))
	open := func(string) (io.ReadCloser, error) { return os.Open(file + ".mod") }
	mod := must(dirhash.Hash1([]string{"go.mod"}, open))
	must(fmt.Fprintf(w, "%s %s %s\n%s %s/go.mod %s\n", m.Path, m.Version, all, m.Path, m.Version, mod))
}

// tag tags the modules in the clone, as the go command looks for them.
func (r *release) tag() {
	for _, folder := range modules {
		check(r.git("tag", strings.TrimPrefix(folder+"/"+r.version, "/")))
	}
}

// output runs a command and returns its standard output without the last line break.
func output(folder, name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Dir = folder
	return outputOf(c)
}

func outputOf(c *exec.Cmd) (string, error) {
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", strings.Join(c.Args, " "), err, out.String(), errs.String())
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}
