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

// others are the compared releases besides the pinned one.
var others = []string{"1.34.4", "1.35.4", "1.37.0"}

// comparedDecisions is the number of compared decisions for each release.
const comparedDecisions = 40_000

// differences are the differences of other releases that the pinned one does not have. They concern
// decisions, statuses or creations. A difference that concerns none of them does not show with any Job
// that an API server stores. Their excuses are in sync/release_test.go and validation/release_test.go.
// TestReleases shows all differences of decisions.
var differences = []struct {
	name     string
	releases []string
	of       string
	text     string
}{
	{"backing-off-active", []string{"1.34.4", "1.35.4"}, "decisions",
		"While a Job waits for the delay after a failure, Kubernetes writes `status.active: 0`, though pods " +
			"are active. The API server rejects that if one of them is ready. 1.36.3 writes the number of active pods"},
	{"suspended-start-time", []string{"1.34.4", "1.35.4"}, "decisions",
		"Kubernetes keeps the start time of a Job that is suspended. jobfate removes it, as 1.36.3 does. The " +
			"API server accepts both"},
	{"policy-alone", []string{"1.37.0"}, "",
		"Only `podReplacementPolicy` decides whether failed pods alone are replaced. Until 1.36 a pod " +
			"failure policy decides it too. No Job shows the difference: the API server sets `Failed` for a " +
			"Job with a pod failure policy, and rejects any other value"},
	{"start-time-error", []string{"1.34.4", "1.35.4"}, "statuses",
		"If the start time of an unsuspended Job changes, the error has another text"},
	{"label-words", []string{"1.34.4"}, "creations",
		"Errors about labels say \"characters\" instead of \"bytes\", and \"qualified name\" instead of \"label key\""},
	{"errors-once", []string{"1.37.0"}, "creations",
		"An error that is found twice is returned once, such as that of a name that is too long for two labels"},
}

// unitReasons say why unit tests of other releases fail.
var unitReasons = map[string][]reason{
	"1.34.4": {{"TestControllerSyncJob/indexed_job_with_podIndexLabel_feature_disabled",
		"The gate `PodIndexLabel` is off, which 1.35 removed. The pods then get their index from the " +
			"annotation, and those of jobfate from the label"}},
}

// comparison is the comparison of a release with jobfate.
type comparison struct {
	release
	decisions int
	unit      *report
}

// compareReleases compares all releases with jobfate.
func compareReleases(ctx context.Context, own release) (all []comparison, err error) {
	temp, err := os.MkdirTemp("", "suites")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	for _, version := range append([]string{own.version}, others...) {
		dir := filepath.Join(temp, version)
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
		r := own
		if version != own.version {
			if r, err = otherRelease(ctx, dir, own.module, version); err != nil {
				return nil, err
			}
		}
		c, err := compareRelease(ctx, dir, r)
		if err != nil {
			return nil, fmt.Errorf("Kubernetes %s: %w", version, err)
		}
		fmt.Printf("%s: %d decisions compared; unit tests: %s\n", version, c.decisions, c.unit.summary())
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b comparison) int { return a.minor() - b.minor() })
	return all, nil
}

func compareRelease(ctx context.Context, temp string, r release) (c comparison, err error) {
	c.release = r
	overlay, err := releaseOverlay(temp, r)
	if err != nil {
		return c, err
	}
	if c.unit, err = unitReport(ctx, overlay, r); err != nil {
		return c, err
	}
	c.unit.reasons = unitReasons[r.version]
	if _, err := c.unit.failures(); err != nil {
		return c, err
	}
	validated, err := r.test(ctx, overlay, "./validation", "-run",
		"^(TestStatus|TestStatusUpdate|TestCreation)$", "-args", "-release", r.version)
	if err != nil {
		return c, err
	}
	if err := allPass(validated); err != nil {
		return c, err
	}
	decisions, err := r.test(ctx, overlay, "-timeout", "1h", "./sync", "-run", "^(TestSync|TestReleases)$",
		"-args", "-release", r.version, "-decisions", fmt.Sprint(comparedDecisions))
	if err != nil {
		return c, err
	}
	if err := allPass(decisions); err != nil {
		return c, err
	}
	return c, c.read(decisions)
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

var comparedLine = regexp.MustCompile(`(?m)^decisions compared: (\d+),`)

// read reads the output of TestSync. It returns an error if a listed difference did not occur.
func (c *comparison) read(results []result) error {
	i := slices.IndexFunc(results, func(t result) bool { return t.test == "TestSync" })
	if i < 0 || len(results) < 2 {
		return errors.New("TestSync or TestReleases is gone")
	}
	output := results[i].output
	count := comparedLine.FindStringSubmatch(output)
	if count == nil {
		return fmt.Errorf("TestSync does not say how many decisions it has compared:\n%s", output)
	}
	c.decisions, _ = strconv.Atoi(count[1])
	for _, d := range differences {
		if d.of != "decisions" || !slices.Contains(d.releases, c.version) {
			continue
		}
		if !regexp.MustCompile(`(?m)^ +\d+ ` + regexp.QuoteMeta(d.name) + `$`).MatchString(output) {
			return fmt.Errorf("no decision shows %s", d.name)
		}
	}
	return nil
}

// cell returns a cell of the table: "equal", and the divergences if there are any.
func (c *comparison) cell(of string) string {
	var names []string
	for _, d := range differences {
		if d.of == of && slices.Contains(d.releases, c.version) {
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
		fmt.Fprintf(&more, "| %s | %s | %s. |\n", code(d.name), strings.Join(d.releases, ", "), d.text)
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
func otherRelease(ctx context.Context, temp, module, version string) (release, error) {
	// The go command writes checksums beside a go.mod.
	if err := os.WriteFile(filepath.Join(temp, "go.mod"), []byte("module temp\n"), 0o600); err != nil {
		return release{}, err
	}
	r, err := download(ctx, module, temp, "k8s.io/kubernetes@v"+version)
	if err != nil {
		return r, err
	}
	r.modfile, err = releaseModfile(ctx, temp, r)
	return r, err
}

// releaseOverlay writes the overlay for the tests of this module and for the unit tests.
func releaseOverlay(temp string, r release) (file string, err error) {
	o := newOverlay(temp)
	path := filepath.Join(r.module, "real", "workloads.go")
	switch {
	case r.minor() < 36:
		o.Files[path] = filepath.Join(r.module, "suites", "older", "workloads.go")
		err = o.enable(path)
	case r.minor() > 36:
		err = o.change(path, func(text []byte) ([]byte, error) {
			return bytes.ReplaceAll(text, []byte("1alpha2"), []byte("1beta1")), nil
		})
	}
	if err != nil {
		return "", err
	}
	o.Files[filepath.Join(r.module, "sync", "gates_test.go")] = "" // tests gates of the pinned release
	if err := showUnit(o, r); err != nil {
		return "", err
	}
	return o.write()
}
