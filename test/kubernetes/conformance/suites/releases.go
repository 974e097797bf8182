package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// listed has the releases in docs/compatibility.md, besides the pinned one.
var listed = []string{"1.35.4", "1.36.5", "1.38.0-beta.0"}

// comparedDecisions is the number of compared decisions for each release.
const comparedDecisions = 25_000

// comparing has the packages whose tests compare a release.
var comparing = []string{
	"./conformance/validation", "./conformance/sync", "./conformance/lifetime", "./conformance/real",
}

// difference is a difference between jobfate and some releases but not the newest. One about
// neither decisions nor statuses nor creations shows with no Job that an API server stores.
type difference struct {
	name     string
	from, to int // the first and last minor version with it; 0: no limit
	of       string
	text     string
}

// differences are found by TestReleases, which shows all of decisions, and excused in
// sync/release_test.go and validation/real_test.go.
var differences = []difference{
	{"backing-off-active", 0, 35, "decisions",
		"While a Job waits for the delay after a failure, Kubernetes writes `status.active: 0`, though pods " +
			"are active. The API server rejects that if one of them is ready. Later releases write the number " +
			"of active pods"},
	{"suspended-start-time", 0, 35, "decisions",
		"Kubernetes keeps the start time of a Job that is suspended. jobfate removes it, as later releases do. " +
			"The API server accepts both"},
	{"policy-alone", 37, 0, "",
		"Only `podReplacementPolicy` decides whether failed pods alone are replaced. Until 1.36, and in " +
			"jobfate, a pod failure policy decides it too. No Job shows the difference: the API server sets " +
			"`Failed` for a Job with a pod failure policy, and rejects any other value"},
	{"start-time-error", 0, 35, "statuses",
		"If the start time of an unsuspended Job changes, the error has another text"},
}

// in reports whether a release has the difference.
func (d difference) in(minor int) bool { return minor >= d.from && (d.to == 0 || minor <= d.to) }

// releases names the releases with the difference.
func (d difference) releases() string {
	if d.to == 0 {
		return fmt.Sprintf("from 1.%d on", d.from)
	}
	return fmt.Sprintf("until 1.%d", d.to)
}

// comparison is the comparison of a release with jobfate.
type comparison struct {
	release
	decisions int
	stale     string // how often Kubernetes skips a sync as stale
	unit      *report
}

// compareReleases compares releases with jobfate.
func compareReleases(ctx context.Context, own release, versions []string) (all []comparison, err error) {
	for _, version := range versions {
		c, err := compareRelease(ctx, own, version)
		if err != nil {
			return nil, fmt.Errorf("Kubernetes %s: %w", version, err)
		}
		fmt.Printf("%s: %d decisions compared; unit tests: %s\n%s\n", version, c.decisions, c.unit.summary(), c.stale)
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b comparison) int { return a.minor() - b.minor() })
	return all, nil
}

func compareRelease(ctx context.Context, own release, version string) (c comparison, err error) {
	r, overlay, done, err := prepare(ctx, own, version, comparing...)
	if err != nil {
		return c, err
	}
	defer done()
	c.release = r
	if c.unit, err = unitReport(ctx, overlay, r); err != nil {
		return c, err
	}
	if _, err := c.unit.failures(); err != nil {
		return c, err
	}
	for _, args := range c.tests() {
		results, err := r.test(ctx, overlay, append([]string{"-timeout", "1h"}, args...)...)
		if err != nil {
			return c, err
		}
		if err := allPass(results); err != nil {
			return c, err
		}
		if err := c.read(results); err != nil {
			return c, err
		}
	}
	return c, nil
}

// tests returns the arguments of go test for the comparisons other than unit tests.
func (c *comparison) tests() [][]string {
	sync, validation := "^(TestSync|TestReleases)$", "^(TestStatus|TestStatusUpdate|TestCreation)$"
	var more [][]string
	if c.minor() >= 36 {
		// These releases have the rules and the gates that these tests are about.
		sync, validation = "^(TestSync|TestLived|TestReleases|TestVectors|TestDivergence.*)$", "."
		more = [][]string{{"./conformance/lifetime"}, {"./conformance/real"}}
	}
	return append([][]string{
		{"./conformance/validation", "-run", validation},
		{"./conformance/sync", "-run", sync, "-args", "-decisions", fmt.Sprint(comparedDecisions)},
	}, more...)
}

// allPass returns an error with the output of the first test that fails.
func allPass(results []result) error {
	if len(results) == 0 {
		return errors.New("there is no test")
	}
	for _, t := range results {
		if t.outcome != "pass" {
			return fmt.Errorf("%s: %s\n%s", t.test, t.outcome, t.output)
		}
	}
	return nil
}

var (
	comparedLine = regexp.MustCompile(`(?m)^decisions compared: (\d+),`)
	staleLine    = regexp.MustCompile(`(?m)(\d+) syncs that Kubernetes skips as stale$`)
)

// read reads the output of TestSync and of TestEnds. It returns an error if a listed difference did not
// occur.
func (c *comparison) read(results []result) error {
	for _, t := range results {
		switch t.test {
		case "TestEnds":
			skips := staleLine.FindStringSubmatch(t.output)
			if skips == nil {
				return fmt.Errorf("TestEnds does not say how many syncs Kubernetes has skipped:\n%s", t.output)
			}
			c.stale = skips[0]
		case "TestSync":
			count := comparedLine.FindStringSubmatch(t.output)
			if count == nil {
				return fmt.Errorf("TestSync does not say how many decisions it has compared:\n%s", t.output)
			}
			c.decisions, _ = strconv.Atoi(count[1])
			for _, d := range differences {
				if d.of == "decisions" && d.in(c.minor()) &&
					!regexp.MustCompile(`(?m)^ +\d+ `+regexp.QuoteMeta(d.name)+`$`).MatchString(t.output) {
					return fmt.Errorf("no decision shows %s", d.name)
				}
			}
		}
	}
	return nil
}

// cell returns a cell of the table: "equal", and the divergences if there are any.
func (c *comparison) cell(of string) string {
	var names []string
	for _, d := range differences {
		if d.of == of && d.in(c.minor()) {
			names = append(names, code(d.name))
		}
	}
	if len(names) == 0 {
		return "equal"
	}
	return "equal, but for " + strings.Join(names, " and ")
}

// renderReleases returns the table of the releases, followed by the tables of divergences and of
// failed tests.
func renderReleases(all []comparison) (string, error) {
	var b, more strings.Builder
	fmt.Fprintf(&b, "| Kubernetes | decisions | unit tests | statuses | creations |\n| --- | --- | --- | --- | --- |\n")
	fmt.Fprintf(&more, "\n| divergence | releases | what differs |\n| --- | --- | --- |\n")
	for _, d := range differences {
		fmt.Fprintf(&more, "| %s | %s | %s. |\n", code(d.name), d.releases(), d.text)
	}
	for _, c := range all {
		passed := c.unit.passed()
		fmt.Fprintf(&b, "| %s | %s | %d of %d pass | %s | %s |\n",
			c.version, c.cell("decisions"), passed, len(c.unit.results), c.cell("statuses"), c.cell("creations"))
		rows, err := c.unit.failures()
		if err != nil {
			return "", err
		}
		if rows != "" {
			fmt.Fprintf(&more, "\n| unit test of %s | result |\n| --- | --- |\n%s", c.version, rows)
		}
	}
	return b.String() + more.String(), nil
}

// otherRelease returns a release other than the one that this module requires.
func otherRelease(ctx context.Context, temp, module, version string, packages []string) (release, error) {
	// The go command writes checksums beside a go.mod.
	if err := os.WriteFile(filepath.Join(temp, "go.mod"), []byte("module temp\n"), 0o600); err != nil {
		return release{}, err
	}
	name := "k8s.io/kubernetes@v" + version
	tool, err := toolchainFor(ctx, temp, name)
	if err != nil {
		return release{}, err
	}
	r, err := download(ctx, tool, module, temp, name)
	if err != nil {
		return r, err
	}
	r.modfile, err = releaseModfile(ctx, temp, r, packages...)
	return r, err
}

// prepare downloads a release, and writes what the go command needs to run the tests of some packages with
// it: an overlay, and a go.mod unless it is the pinned one. The files live until done is called.
func prepare(ctx context.Context, own release, version string, packages ...string) (
	r release, overlay string, done func(), err error,
) {
	temp, err := os.MkdirTemp("", "suites")
	if err != nil {
		return r, "", nil, err
	}
	done = func() { os.RemoveAll(temp) }
	r = own
	if version != own.version {
		r, err = otherRelease(ctx, temp, own.module, version, packages)
	}
	if err == nil {
		overlay, err = releaseOverlay(temp, r)
	}
	if err != nil {
		done()
	}
	return r, overlay, done, err
}

// releaseOverlay writes the overlay for the tests of this module and for the unit tests.
func releaseOverlay(temp string, r release) (file string, err error) {
	o := newOverlay(temp)
	switch {
	case r.minor() < 36:
		path := filepath.Join(r.module, "conformance/real/workloads.go")
		o.Files[path] = filepath.Join(r.module, "conformance/suites/older/workloads.go")
		err = o.enable(path)
		o.Files[filepath.Join(r.module, "conformance/sync/gates_test.go")] = "" // tests newer gates
	case r.minor() == 36:
		err = o.enable(filepath.Join(r.module, "conformance/real/gates_test.go"))
	}
	if err == nil {
		err = showUnit(o, r)
	}
	if err == nil {
		err = o.adapt(r, "real", "suites/unit")
	}
	if err != nil {
		return "", err
	}
	return o.write()
}

// adaptations lists texts in files of conformance that a release needs in other words.
var adaptations = []struct {
	from, to int // the first and the last minor version; 0: no limit
	folder   string
	file     string
	old, new string
}{
	{36, 36, "real", "workloads.go", "1beta1", "1alpha2"}, // the scheduling API
	{36, 36, "suites/integration/controller", "controller.go", "1beta1", "1alpha2"},
	{38, 0, "real", "workloads.go", "kubernetes/pkg/controller/util/consistency", "client-go/util/consistency"},
	{38, 0, "suites/unit", "workloads.go", "_, group, err :=", "group, err :="},
	// Pods have no reference to the PodGroup: the two would wait for each other when they are deleted.
	{38, 0, "suites/unit", "workloads.go",
		"pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference(*g))", ""},
}

// adapt changes the files of some folders for a release.
func (o *overlay) adapt(r release, folders ...string) error {
	for _, a := range adaptations {
		if r.minor() < a.from || a.to != 0 && r.minor() > a.to || !slices.Contains(folders, a.folder) {
			continue
		}
		err := o.change(filepath.Join(r.module, "conformance", a.folder, a.file), func(text []byte) ([]byte, error) {
			if !bytes.Contains(text, []byte(a.old)) {
				return nil, fmt.Errorf("%q does not occur", a.old)
			}
			return bytes.ReplaceAll(text, []byte(a.old), []byte(a.new)), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
