package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// unit runs the unit tests of the Job controller and returns the results of those that
// call syncJob, and how many others there are.
func unit(ctx context.Context, r release) (results []result, others int, err error) {
	temp, err := os.MkdirTemp("", "suites")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(temp)
	file, err := unitOverlay(temp, r)
	if err != nil {
		return nil, 0, err
	}
	all, err := runTests(ctx, r.module, "-overlay", file, "./suites/unit")
	for _, t := range all {
		if i := slices.Index(t.marks, synced); i >= 0 {
			t.marks = slices.Delete(t.marks, i, i+1)
			results = append(results, t)
		}
	}
	return results, len(all) - len(results), err
}

// unitOverlay writes the overlay that makes Kubernetes' package of the Job controller
// ./suites/unit, with our syncJob.
func unitOverlay(temp string, r release) (file string, err error) {
	o, to := newOverlay(temp), filepath.Join(r.module, "suites", "unit")
	if err := o.show(filepath.Join(r.dir, "pkg", "controller", "job"), to, ".go"); err != nil {
		return "", err
	}
	if err := o.change(filepath.Join(to, "job_controller.go"), renameMethod("Controller", "syncJob", "syncJobOfKubernetes")); err != nil {
		return "", err
	}
	for _, ours := range []string{"syncjob.go", "gates.go", "workloads.go"} {
		if err := o.enable(filepath.Join(to, ours)); err != nil {
			return "", err
		}
	}
	return o.write()
}

// unitReport runs the suite and reports the results.
func unitReport(ctx context.Context, r release) (*report, error) {
	results, others, err := unit(ctx, r)
	if err != nil {
		return nil, err
	}
	return &report{
		name:    "unit",
		title:   "Unit tests of the Job controller",
		command: "go -C conformance run ./suites -write unit",
		about: fmt.Sprintf("These are the tests of `k8s.io/kubernetes/pkg/controller/job` %s that call `syncJob`, "+
			"with jobfate in the place of that function. The other %d tests of the package call single functions "+
			"of Kubernetes and show nothing about jobfate.", r.version, others),
		results: results,
	}, nil
}
