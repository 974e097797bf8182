package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
)

// runUnit reports the unit tests of the pinned release.
func runUnit(ctx context.Context, r release) (*report, error) {
	_, overlay, done, err := prepare(ctx, r, r.version)
	if err != nil {
		return nil, err
	}
	defer done()
	return unitReport(ctx, overlay, r)
}

// showUnit shows Kubernetes' package of the Job controller as ./conformance/suites/unit, with the functions of
// our syncjob.go.
func showUnit(o *overlay, r release) error {
	to := filepath.Join(r.module, "conformance/suites/unit")
	if err := o.show(filepath.Join(r.dir, "pkg", "controller", "job"), to, ".go"); err != nil {
		return err
	}
	for _, theirs := range []struct{ file, receiver, name string }{
		{"job_controller.go", "Controller", "syncJob"},
		{"tracking_utils.go", "", "newUIDTrackingExpectations"},
	} {
		renamed := renameFunc(theirs.receiver, theirs.name, theirs.name+"OfKubernetes")
		if err := o.change(filepath.Join(to, theirs.file), renamed); err != nil {
			return err
		}
	}
	workloads := "workloads.go"
	if r.minor() < 36 {
		workloads = "noworkloads.go"
	}
	for _, ours := range []string{"syncjob.go", "gates.go", workloads} {
		if err := o.enable(filepath.Join(to, ours)); err != nil {
			return err
		}
	}
	return nil
}

// unitReport runs the tests with an overlay, and reports those that call syncJob.
func unitReport(ctx context.Context, overlay string, r release) (*report, error) {
	all, err := r.test(ctx, overlay, "./conformance/suites/unit")
	if err != nil {
		return nil, err
	}
	var results []result
	for _, t := range all {
		if i := slices.Index(t.marks, synced); i >= 0 {
			t.marks = slices.Delete(t.marks, i, i+1)
			results = append(results, t)
		}
	}
	return &report{
		name:    "unit",
		title:   "Unit tests of the Job controller",
		command: "go -C test/kubernetes run ./conformance/suites -write unit",
		about: fmt.Sprintf("These are the tests of `k8s.io/kubernetes/pkg/controller/job` %s that call `syncJob`, "+
			"with jobfate in the place of that function. The other %d tests of the package call single functions "+
			"of Kubernetes and show nothing about jobfate.", r.version, len(all)-len(results)),
		results: results,
	}, nil
}
