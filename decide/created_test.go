package decide

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	. "github.com/jobfate/jobfate/internal/podtest"
)

const indexed = "\ncompletionMode: Indexed"

// Which pods a Job gets and loses, by the sentences of the API reference.
func TestPods(t *testing.T) {
	running := func(names ...string) func(*scene) {
		return func(s *scene) {
			for i, name := range names {
				s.pod(name, i+1, corev1.PodRunning, 0)
			}
		}
	}
	succeeded := func(s *scene) { s.pod("done", 1, corev1.PodSucceeded, 0) }
	capped := func(s *scene) { s.config.ChangesCap = 2 }
	terminates := func(s *scene) { s.Pods[0].DeletionTimestamp = s.stored(0) }
	for _, test := range []struct {
		sentence string
		spec     string
		scene    []func(*scene)
		want     string
	}{
		{"the maximum desired number of pods the job should run at any given time",
			"parallelism: 3\ncompletions: 5", []func(*scene){running("a")}, "create 2"},
		{"less than this number when ((.spec.completions - .status.successful) < .spec.parallelism)",
			"parallelism: 3\ncompletions: 3", []func(*scene){running("a"), succeeded}, "create 1; strip done"},
		{"Setting to null means that the success of any pod signals the success of all pods",
			"parallelism: 3", []func(*scene){running("a"), succeeded}, "strip done"},
		{"completions null, without a success", "parallelism: 3", []func(*scene){running("a")}, "create 2"},
		{"completions null, one success and no active pod", "parallelism: 3", []func(*scene){succeeded},
			"strip done; SuccessCriteriaMet CompletionsReached"},
		{"parallelism defaults to 1, and completions only if both are unset", "completions: 2",
			[]func(*scene){succeeded, func(s *scene) { s.Job.Spec.Parallelism = nil }}, "create 1; strip done"},
		{"suspend: pods are deleted, and none is created", "parallelism: 3\nsuspend: true",
			[]func(*scene){running("a")}, "delete a"},
		{"parallelism 0 deletes all", "parallelism: 0\ncompletions: 3", []func(*scene){running("a", "b")}, "delete a,b"},

		{"TerminatingOrFailed means that we recreate pods when they are terminating",
			"parallelism: 1\ncompletions: 5\npodReplacementPolicy: TerminatingOrFailed\nbackoffLimitPerIndex: 1" + indexed,
			[]func(*scene){running("a"), terminates, func(s *scene) { s.Now = s.at(60) }}, "create index 0"},
		{"Failed means to wait until a previously created Pod is fully terminated",
			"parallelism: 2\ncompletions: 5\npodReplacementPolicy: Failed" + indexed,
			[]func(*scene){running("a"), terminates}, "create index 1"},
		{"Failed, at parallelism", "parallelism: 1\ncompletions: 5\npodReplacementPolicy: Failed",
			[]func(*scene){running("a"), terminates}, "nothing"},

		{"the lowest indexes without a pod come first", "parallelism: 3\ncompletions: 5" + indexed,
			[]func(*scene){running("a")}, "create index 1,2"},
		{"completed indexes get no pods", "parallelism: 3\ncompletions: 5" + indexed,
			[]func(*scene){func(s *scene) { s.Job.Status.CompletedIndexes = "0,2" }}, "create index 1,3,4"},
		{"failed indexes get no pods", "parallelism: 3\ncompletions: 5\nbackoffLimitPerIndex: 1" + indexed,
			[]func(*scene){func(s *scene) { failed := "0,2"; s.Job.Status.FailedIndexes = &failed }}, "create index 1,3,4"},
		{"of two pods of an index one goes, and no pod is created in that sync", "parallelism: 3\ncompletions: 5" + indexed,
			[]func(*scene){running("a"), func(s *scene) { s.pod("b", 1, corev1.PodPending, 0) }}, "delete b"},
		{"a pod beyond the completions goes", "parallelism: 3\ncompletions: 2" + indexed,
			[]func(*scene){running("a", "b"), func(s *scene) {
				s.pod("c", 1, corev1.PodRunning, 0).Annotations[batchv1.JobCompletionIndexAnnotation] = "2"
			}}, "delete c"},
		{"a pod without an index goes", "parallelism: 3\ncompletions: 2" + indexed, []func(*scene){running("a", "b"), func(s *scene) {
			delete(s.Pods[1].Annotations, batchv1.JobCompletionIndexAnnotation)
		}}, "delete b"},

		{"an index that backs off takes a place", "parallelism: 2\ncompletions: 5\nbackoffLimitPerIndex: 1" + indexed,
			[]func(*scene){func(s *scene) { s.pod("a", 1, corev1.PodFailed, 0) }}, "create index 1; sync in 9s"},
		{"FillFreeSlots: an index that backs off takes no place", "parallelism: 2\ncompletions: 5\nbackoffLimitPerIndex: 1" + indexed,
			[]func(*scene){func(s *scene) { s.pod("a", 1, corev1.PodFailed, 0); s.config.FillFreeSlots = true }}, "create index 1,2; sync in 9s"},

		{"a cap on creations leaves the rest to the next sync", "parallelism: 5\ncompletions: 5", []func(*scene){capped},
			"create 2; sync in 1s"},
		{"a cap on creations, of indexes", "parallelism: 5\ncompletions: 5" + indexed, []func(*scene){running("a"), capped},
			"create index 1,2; sync in 1s"},
		{"a cap while the Job backs off leaves nothing", "parallelism: 5\ncompletions: 5",
			[]func(*scene){capped, func(s *scene) { s.pod("a", 1, corev1.PodFailed, 0) }}, "strip a; failed 1; sync in 9s"},
		{"a cap that is reached exactly", "parallelism: 0\ncompletions: 5", []func(*scene){running("a", "b"), capped}, "delete a,b"},
		{"a cap that is not reached", "parallelism: 5\ncompletions: 2",
			[]func(*scene){capped}, "create 2"},
		{"a cap spares no pod of a suspended Job", "parallelism: 3\ncompletions: 5\nsuspend: true",
			[]func(*scene){running("a", "b", "c"), capped}, "delete a,b,c"},
		{"a cap on deletions leaves the rest to the next sync", "parallelism: 0\ncompletions: 5", []func(*scene){running("a", "b", "c"), capped},
			"delete a,b; sync in 1s"},

		{"a Job that is deleted gets and loses no pods", "parallelism: 1\ncompletions: 5",
			[]func(*scene){running("a", "b"), func(s *scene) { s.Job.DeletionTimestamp = s.stored(0) }}, "strip a,b"},
		{"no pod is created or deleted before creations are observed", "parallelism: 1\ncompletions: 5",
			[]func(*scene){running("a", "b"), func(s *scene) { s.InFlight.Creations = 1 }}, "nothing"},
		{"no pod is created before deletions are observed", "parallelism: 3\ncompletions: 5",
			[]func(*scene){func(s *scene) { s.InFlight.Deletions = 1 }}, "nothing"},
		{"nothing is decided before the status is observed", "parallelism: 3\ncompletions: 5",
			[]func(*scene){func(s *scene) { s.InFlight.Status = true }}, "sync in 1s"},
	} {
		s := newScene(t, test.spec)
		for _, change := range test.scene {
			change(s)
		}
		s.expect(t, test.sentence, test.want)
	}
}

// Deferred counts the work that the caps put off: no more pods to create than there are vacant indexes.
func TestLeft(t *testing.T) {
	for _, test := range []struct {
		spec string
		pods int
		want Deferred
	}{
		{"parallelism: 5\ncompletions: 5", 0, Deferred{Create: 3}},
		{"parallelism: 5\ncompletions: 5" + indexed, 1, Deferred{Create: 2}},
		{"parallelism: 0\ncompletions: 5", 3, Deferred{Delete: 1}},
		{"parallelism: 2\ncompletions: 5", 0, Deferred{}},
	} {
		s := newScene(t, test.spec)
		s.config.ChangesCap = 2
		for n := range test.pods {
			s.pod(fmt.Sprint("pod", n), n+1, corev1.PodRunning, 0)
		}
		Same(t, fmt.Sprintf("%s, %d pods: Deferred", test.spec, test.pods), s.outcome(t).Deferred, test.want)
	}
	s := newScene(t, "parallelism: 5\ncompletions: 5\nbackoffLimitPerIndex: 0"+indexed)
	s.config.ChangesCap, s.Job.Status.FailedIndexes = 2, new("0,3")
	Same(t, "two indexes have failed: Deferred", s.outcome(t).Deferred, Deferred{Create: 1})
}

// A Job that is ending or being deleted is not suspended, and no Job is while a pod may exist that is not observed.
func TestSuspend_notAtTheEnd(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*scene)
		want   bool
	}{
		"suspended":                     {func(*scene) {}, true},
		"suspended when it fails":       {func(s *scene) { s.condition(batchv1.JobFailureTarget) }, false},
		"suspended when it is complete": {func(s *scene) { s.pod("done", 1, corev1.PodSucceeded, 0) }, false},
		"suspended, a creation pending": {func(s *scene) { s.InFlight.Creations = 1 }, false},
		"suspended while deleted":       {func(s *scene) { s.Job.DeletionTimestamp = s.stored(0) }, false},
	} {
		s := newScene(t, "parallelism: 1\ncompletions: 1\nsuspend: true")
		test.change(s)
		o := s.outcome(t)
		got := false
		for _, c := range o.made.status.Conditions {
			got = got || c.Type == batchv1.JobSuspended
		}
		if got != test.want || (len(o.Events) > 0) != test.want {
			t.Errorf("%s: the condition Suspended is stored: %t, events %v; want %t", name, got, o.Events, test.want)
		}
	}
}

// The API server lets status.succeeded of an Indexed Job fall only while completions equal
// parallelism, as they do after an elastic Job was scaled down.
func TestSucceeded_fallsOnlyInElasticJobs(t *testing.T) {
	for parallelism, want := range map[int]int32{2: 2, 1: 4} {
		s := newScene(t, fmt.Sprintf("parallelism: %d\ncompletions: 2", parallelism)+indexed)
		s.Job.Status.Succeeded, s.Job.Status.CompletedIndexes = 4, "0-3"
		Same(t, fmt.Sprintf("parallelism %d, completions 2: succeeded", parallelism), s.outcome(t).made.status.Succeeded, want)
	}
}

// The labels of a template take precedence over those that the API server would have added.
func TestCreate_labelsOfTheTemplate(t *testing.T) {
	s := newScene(t, "parallelism: 1\ncompletions: 1")
	s.Job.Spec.Selector, s.Job.Spec.Template.Labels = nil, map[string]string{batchv1.JobNameLabel: "mine"}
	labels := s.outcome(t).Create[0].Pod().Labels
	Same(t, "labels", []string{labels[batchv1.JobNameLabel], labels[batchv1.ControllerUidLabel]}, []string{"mine", string(s.Job.UID)})
}
