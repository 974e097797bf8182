package main

// project is a project that reads Jobs.
type project struct {
	// name is that of the folder with our files.
	name, title     string
	module, version string
	// packages are those whose tests run.
	packages []string
	// integration is the package of the integration tests that need nothing but an API server.
	integration string
	// chance is the text of a spec that passes by chance.
	chance string
	// crds is the folder that kustomize makes the definitions for the integration tests from, and made where they go.
	crds, made string
	// program is the main package whose size counts; else it is the size of the tests of the first package.
	program string
	// function is what costs most time of what we replace, setup and call the benchmark of it.
	function, setup, call string
	// drop lists declarations of the files that change, which nothing needs any more.
	drop []string
	// moves lists what changes in go.mod, besides the requirement of this library.
	moves []string
	// mends is a test that fails without jobfate if its Jobs are as the Job controller leaves them.
	mends string
	// reasons says why results of tests differ.
	reasons []reason
}

// reason says why the results of the tests whose names begin so differ.
type reason struct{ test, text string }

// isNew is the reason of a test that the project does not have.
const isNew = "A new test fails without."

var projects = []project{
	{
		name: "kueue", title: "Kueue", module: "sigs.k8s.io/kueue", version: "v0.19.2",
		function: "ReclaimablePods",
		setup: `job := (*Job)(jobs.Complete(&batchv1.Job{Spec: batchv1.JobSpec{Completions: new(int32(1000)),
			Parallelism: new(int32(100)), CompletionMode: new(batchv1.IndexedCompletion)}}, time.Now()))
		job.Status.CompletedIndexes = "0-399,402-410,412,414-420,425,430-440,445,450-455,460"
		job.Status.FailedIndexes = new("400,411,413")`,
		call:     `job.ReclaimablePods(b.Context(), nil)`,
		packages: []string{"./pkg/controller/jobs/job", "./pkg/controller/jobframework"}, program: "./cmd/kueue",
		integration: "./test/integration/singlecluster/controller/jobs/job",
		crds:        "config/components/crd", made: "config/components/crd/_output/crds.yaml",
		drop:    []string{"indexInterval", "parseIndexRange"},
		mends:   "pkg/controller/jobs/job.TestReclaimablePodsOfFewerCompletions",
		reasons: []reason{{"pkg/controller/jobs/job.TestReclaimablePodsOfFewerCompletions", isNew}},
	},
	{
		name: "jobset", title: "JobSet", module: "sigs.k8s.io/jobset", version: "v0.12.0",
		function: "executeFailurePolicy",
		setup: `js := &jobset.JobSet{Spec: jobset.JobSetSpec{FailurePolicy: &jobset.FailurePolicy{
			MaxRestarts: math.MaxInt32,
			Rules: []jobset.FailurePolicyRule{
				{Action: jobset.FailJobSet, OnJobFailureReasons: []string{batchv1.JobReasonPodFailurePolicy}},
				{Action: jobset.FailJobSet, OnJobFailureMessagePatterns: []string{"exit code (42|43)"}},
				{Action: jobset.RestartJobSet, TargetReplicatedJobs: []string{"workers"}},
			},
		}}}
		children := &childJobs{}
		reason, workers := batchv1.JobReasonBackoffLimitExceeded, "workers"
		for i := range 100 {
			children.failed = append(children.failed, jobWithFailedConditionAndOpts(fmt.Sprint("job", i),
				time.Unix(int64(i), 0), &failJobOptions{reason: &reason, parentReplicatedJobName: &workers}))
		}`,
		call:     `executeFailurePolicy(b.Context(), js, children, &statusUpdateOpts{})`,
		packages: []string{"./pkg/controllers"}, program: ".",
		integration: "./test/integration/controller",
		// It has no webhook that could reject the update, so it fails unless a status write causes a conflict.
		chance: "rejects updates to parallelism and completions",
		drop: []string{"actionFunctionMap", "failurePolicyActionApplier", "failJobSetActionApplier",
			"restartJobSetActionApplier", "restartJobSetAndIgnoreMaxRestartsActionApplier", "restartJobActionApplier",
			"restartJobAndIgnoreMaxRestartsActionApplier", "applyFailurePolicyRuleAction", "ruleIsApplicable",
			"findFirstFailedPolicyRuleAndJob", "findFirstFailedJob", "findJobFailureCondition", "findJobFailureTime",
			"anyMatchFound"},
		mends: "pkg/controllers.TestExecuteFailurePolicySimultaneousFailures",
		reasons: []reason{{"pkg/controllers.TestExecuteFailurePolicySimultaneousFailures", isNew}, {
			"pkg/controllers.TestApplyFailurePolicyRuleAction/RestartJobSetAndIgnoreMaxRestarts",
			"One calls an internal function with an action of no rule.",
		}},
	},
	{
		name: "kuberay", title: "KubeRay", module: "github.com/ray-project/kuberay/ray-operator", version: "v1.6.2",
		function: "IsJobFinished",
		setup:    `job := jobs.Complete(&batchv1.Job{}, time.Now())`,
		call:     `IsJobFinished(job)`,
		packages: []string{"./controllers/ray/utils"}, program: ".",
		moves: []string{"go 1.26.0"},
	},
	{
		name: "helm", title: "Helm", module: "helm.sh/helm/v3", version: "v3.20.0",
		function: "jobReady",
		setup: `checker := NewReadyChecker(nil, nil)
		job := jobs.Complete(newJob("foo", 6, intToInt32(1), 0, 0), time.Now())`,
		call:     `checker.jobReady(job)`,
		packages: []string{"./pkg/kube"}, program: "./cmd/helm",
		moves: []string{"go 1.26.0"},
		mends: "pkg/kube.Test_ReadyChecker_jobReady_conditions",
		reasons: []reason{{"pkg/kube.Test_ReadyChecker_jobReady_conditions", isNew},
			{"pkg/kube.TestWaitJob", "One ends its Job without a condition."}},
	},
	{
		name: "keda", title: "KEDA", module: "github.com/kedacore/keda/v2", version: "v2.21.0",
		function: "byCompletedTime",
		setup: `all := make(byCompletedTime, 100)
		for i := range all {
			all[i] = *jobs.Complete(&batchv1.Job{}, time.Unix(int64(i*37%100), 0))
		}`,
		call:     `sort.Sort(slices.Clone(all))`,
		packages: []string{"./pkg/scaling/executor"},
		mends:    "pkg/scaling/executor.TestCleanUpMixedCaseWithSortByTime",
	},
}
