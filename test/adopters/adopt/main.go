// The command adopt runs the tests of other projects with jobfate inside:
//
//	adopt kueue              one project
//	adopt                    all of them
//	adopt -patch DIR kueue   also writes what would be sent to the project as DIR/kueue.patch
//	adopt -servers jobset    also runs its integration tests, on an API server without controllers
//	adopt -costs kueue       measures what jobfate costs the project, instead of running its tests
//
// It runs with go -C test/adopters run ./adopt.
//
// The go command takes the project from the module proxy. In a copy, each declaration of our files in
// adopt/testdata/PROJECT takes the place of theirs with the same name. This repository contains no copy of their code,
// not in a patch either. The project keeps its go.mod, with one requirement more; projects.go lists any other change.
//
// The tests run before and after, and are compared one by one. It is an error if a result differs without a reason in
// projects.go, if a reason explains nothing, or if docs/replace.md does not have the row that comes out: lines gone and
// new, without tests, and tests that pass before and after. If projects.go says that jobfate mends a test, the tests
// also run with our fixtures alone, and that one must fail.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

// options are those of the command.
type options struct {
	patches        string
	costs, servers bool
}

func main() {
	var o options
	flag.StringVar(&o.patches, "patch", "", "the folder to write patches into")
	flag.BoolVar(&o.costs, "costs", false, "measure what jobfate costs the projects, instead of running their tests")
	flag.BoolVar(&o.servers, "servers", false, "also run integration tests, on an API server")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: go -C test/adopters run ./adopt [FLAG...] [PROJECT...]")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, flag.Args(), o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, names []string, o options) error {
	document, err := os.ReadFile("../../docs/replace.md")
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(projects, func(p project) bool { return p.name == name }) {
			return fmt.Errorf("projects.go has no project %q", name)
		}
	}
	var errs []error
	for _, p := range projects {
		if len(names) > 0 && !slices.Contains(names, p.name) {
			continue
		}
		var row string
		if o.costs {
			row, err = p.costs(ctx)
		} else {
			row, err = p.adopt(ctx, o)
		}
		fmt.Println(row)
		if err == nil && !o.costs && !strings.Contains(string(document), "\n"+row+"\n") {
			err = errors.New("docs/replace.md does not have this row")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", p.name, p.version, err))
		}
	}
	return errors.Join(errs...)
}

// adopt runs the tests of a project before and after, and returns its rows of docs/replace.md: with servers, also that
// of its integration tests.
func (p *project) adopt(ctx context.Context, o options) (row string, err error) {
	t, err := p.newTree(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, t.remove()) }()
	before, specsBefore, err := t.tests(ctx, o.servers)
	if err != nil {
		return "", fmt.Errorf("before: %w", err)
	}
	if p.mends != "" {
		if err = t.mended(ctx, before); err != nil {
			return "", err
		}
	}
	if err = t.replace(".go", p.drop, nil); err != nil {
		return "", err
	}
	patch, gone, added, err := t.diff(ctx)
	if err != nil {
		return "", err
	}
	if o.patches != "" {
		if err = p.write(ctx, o.patches, patch); err != nil {
			return "", err
		}
	}
	after, specsAfter, err := t.tests(ctx, o.servers)
	if err != nil {
		return "", fmt.Errorf("after: %w", err)
	}
	rowOf := func(packages string, before, after results, differ string) string {
		return fmt.Sprintf("| %s %s | %s | %d | %d | %d | %d | %s |", p.title, strings.TrimPrefix(p.version, "v"),
			packages, gone, added, passed(before), passed(after), cmp.Or(differ, "nothing"))
	}
	differ, err := p.explain(before, after)
	row = rowOf(strings.Join(p.packages, ", "), before, after, differ)
	if specsAfter != nil {
		_, errSpecs := (&project{}).explain(specsBefore, specsAfter)
		row, err = row+"\n"+rowOf(p.integration, specsBefore, specsAfter, ""), errors.Join(err, errSpecs)
	}
	return row, errors.Join(err, t.moved(ctx))
}

// tests runs the unit tests and, with servers, the integration tests.
func (t *tree) tests(ctx context.Context, servers bool) (units, specs results, err error) {
	units, err = t.test(ctx)
	if err != nil || !servers || t.integration == "" {
		return units, nil, err
	}
	specs, err = t.integrate(ctx)
	return units, specs, err
}

// write writes a patch that git am accepts. The message of the commit is in our files, in the convention of the
// project. The patch has no sign-off, which git am -s adds, and does not require this library, which go get does.
func (p *project) write(ctx context.Context, folder string, patch []byte) error {
	author, err := output(exec.CommandContext(ctx, "git", "var", "GIT_AUTHOR_IDENT"))
	if err != nil {
		return err
	}
	name, _, _ := bytes.Cut(author, []byte(">"))
	message, err := os.ReadFile(filepath.Join("adopt/testdata", p.name, "message"))
	if err != nil {
		return err
	}
	patch = fmt.Appendf(nil, "From: %s>\nSubject: [PATCH] %s---\n%s", name, message, patch)
	return os.WriteFile(filepath.Join(folder, p.name+".patch"), patch, 0o600)
}
