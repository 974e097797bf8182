package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ourController is the path of the module that the integration tests run, relative to the root of
// the repository.
const ourController = "controller"

// The package of the built-in controller that the tests import, and its replacement.
const (
	builtIn  = "k8s.io/kubernetes/pkg/controller/job"
	standIn  = thisModule + "/conformance/suites/integration/controller"
	etcdTool = "go.etcd.io/etcd/server/v3"
)

// integrationReasons say why tests of a release fail.
func integrationReasons(minor int) []reason {
	all := []reason{{"TestJobGangScheduling", noWorkload}}
	if minor >= 37 {
		return append(all,
			reason{"TestJobDelegatedPodGroup", noWorkload},
			reason{"TestJobGangSchedulingElasticScaling", noWorkload},
			reason{"TestJobGangSchedulingSuspendResume", noWorkload})
	}
	const delayed, bothOff = "TestDelayTerminalPhaseCondition/", ";_JobPodReplacementPolicy_and_JobManagedBy_disabled"
	return append(all,
		reason{"TestJobAdmissionParallelismUpdate/parallelism_update_blocked_for_gang-scheduled_job", noWorkload},
		reason{delayed + "job_backoff_limit_exceeded" + bothOff, withoutInterim},
		reason{delayed + "job_scale_down_to_meet_completions" + bothOff, withoutInterim},
		reason{delayed + "job_scale_down_to_meet_completions;_JobManagedBy_enabled", withoutReason},
		reason{delayed + "job_scale_down_to_meet_completions;_JobPodReplacementPolicy_enabled", withoutReason},
		reason{"TestSuccessPolicy/all_indexes_succeeded;_JobSuccessPolicy_is_disabled", withoutReason})
}

const (
	withoutInterim = "The gates `JobManagedBy` and `JobPodReplacementPolicy` are off, by emulation of an " +
		"older release; 1.36 has locked them. Such a server expects no interim condition, which jobfate always writes"
	withoutReason = "The gate `JobSuccessPolicy` is off, by emulation of an older release; 1.36 has " +
		"locked it. Completion then has no reason, and that of jobfate is always `CompletionsReached`"
	noWorkload = "The alpha gate `WorkloadWithJob` is on. The controller creates no Workload and no PodGroup"
)

// racing lists the lines before two updates. The updates use the resource version that the creation of
// the Job returned, so they conflict with the first status write of a controller that is faster than
// the test. Under load the built-in controller fails these tests as well. The tests are about
// validation, so here they update any version.
var racing = []string{
	"job.Spec.Template.Spec.NodeSelector = nodeSelector",
	"job.Spec.Template.Spec.Containers[0].Resources = wantResources",
}

// runIntegration runs the integration tests of the Job controller with the module
// controller.
func runIntegration(ctx context.Context, r release) (*report, error) {
	temp, err := os.MkdirTemp("", "suites")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	overlay, err := r.forIntegration(ctx, temp)
	if err != nil {
		return nil, err
	}
	if err := provideEtcd(ctx, temp, r.module); err != nil {
		return nil, err
	}
	results, err := r.test(ctx, overlay, "-timeout", "1h", "./conformance/suites/integration")
	return &report{
		name:    "integration",
		title:   "Integration tests of the Job controller",
		command: "go -C test/kubernetes run ./conformance/suites -write integration",
		about: fmt.Sprintf("These are the tests of `k8s.io/kubernetes/test/integration/job` %s. "+
			"They start etcd, run the API server in the process of the test, and play the kubelet. "+
			"The controller is the module [%[2]s](../%[2]s), with `ReplaceBuiltIn`, in the place of the built-in one. "+
			"The two tests `…ForSuspendedJobsNotYetStarted` update a Job without its resource version: "+
			"with it they race with the first status write of any controller, the built-in one included.",
			r.version, ourController),
		results: results,
		reasons: integrationReasons(r.minor()),
	}, err
}

// forIntegration writes the overlay and the go.mod of the integration tests.
func (r *release) forIntegration(ctx context.Context, temp string) (overlay string, err error) {
	if overlay, err = integrationOverlay(temp, *r); err != nil {
		return "", err
	}
	r.modfile, err = releaseModfile(ctx, temp, *r, ours+"/"+ourController)
	return overlay, err
}

// integrationOverlay shows Kubernetes' package of integration tests as ./conformance/suites/integration.
func integrationOverlay(temp string, r release) (file string, err error) {
	o, to := newOverlay(temp), filepath.Join(r.module, "conformance/suites/integration")
	if err := o.show(filepath.Join(r.dir, "test", "integration", "job"), to, "_test.go"); err != nil {
		return "", err
	}
	changes := []func([]byte) ([]byte, error){replaceOnce(strconv.Quote(builtIn), strconv.Quote(standIn))}
	for _, line := range racing {
		changes = append(changes, replaceOnce("\t"+line+"\n", "\t"+line+"\n\tjob.ResourceVersion = \"\"\n"))
	}
	for _, change := range changes {
		if err := o.change(filepath.Join(to, "job_test.go"), change); err != nil {
			return "", err
		}
	}
	to = filepath.Join(to, "controller")
	if err := showController(o, filepath.Join(r.module, "../..", ourController), to); err != nil {
		return "", err
	}
	for _, ours := range []string{"controller.go", "gates.go"} {
		if err := o.enable(filepath.Join(to, ours)); err != nil {
			return "", err
		}
	}
	if err := o.adapt(r, "suites/integration/controller"); err != nil {
		return "", err
	}
	return o.write()
}

// showController shows the files of the module controller beside the files that adapt it.
func showController(o *overlay, from, to string) error {
	files, err := filepath.Glob(filepath.Join(from, "*.go"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			o.Files[filepath.Join(to, "module_"+filepath.Base(file))] = file
		}
	}
	return nil
}

// replaceOnce returns a change of a file that replaces a text. The text must occur exactly once.
func replaceOnce(from, to string) func([]byte) ([]byte, error) {
	return func(text []byte) ([]byte, error) {
		if n := bytes.Count(text, []byte(from)); n != 1 {
			return nil, fmt.Errorf("%q occurs %d times, not once", from, n)
		}
		return bytes.Replace(text, []byte(from), []byte(to), 1), nil
	}
}

// provideEtcd builds etcd in the folder in which the tests look for it.
func provideEtcd(ctx context.Context, temp, module string) error {
	out, err := toolchain("").output(ctx, module, "tool", "-n", etcdTool)
	if err != nil {
		return err
	}
	bin := filepath.Join(temp, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		return err
	}
	if err := os.Symlink(strings.TrimSpace(string(out)), filepath.Join(bin, "etcd")); err != nil {
		return err
	}
	return os.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}
