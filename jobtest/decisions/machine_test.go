package decisions

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/jobtest/decidetest"
)

// drive answers all requests, and returns them. Reads return the Job, and all writes
// succeed. The resource versions of the statuses increase from 8.
func drive(t *testing.T, m *jobfate.Machine, job *batchv1.Job) (asked []jobfate.Request) {
	t.Helper()
	version := 7
	m.Run(func(r jobfate.Request) (object runtime.Object, err error) {
		if r.Namespace != "ns" || r.Name == "" && r.Verb != jobfate.CreatePod {
			t.Errorf("%s: the request is for %q in namespace %q", r.Verb, r.Name, r.Namespace)
		}
		switch r.Verb {
		case jobfate.GetJob:
			object = job
		case jobfate.CreatePod:
			pod := r.Pod.DeepCopy()
			pod.Name, pod.UID = pod.GenerateName+"x", "new"
			object = pod
		case jobfate.PatchStatus:
			version++
			stored := job.DeepCopy()
			stored.ResourceVersion, stored.Status = fmt.Sprint(version), *r.Status
			object = stored
		}
		asked = append(asked, r)
		return object, nil
	})
	return asked
}

// fresh returns a view whose caches are up to date.
func fresh(job *batchv1.Job) jobfate.View {
	return jobfate.View{Job: job, Now: job.CreationTimestamp.Time, JobsVersion: "1", PodsVersion: "1", Barrier: "1"}
}

// requests returns the requests of one sync of a new Machine.
func requests(t *testing.T, job *batchv1.Job, pods ...*corev1.Pod) ([]jobfate.Request, jobfate.Result) {
	t.Helper()
	m := jobfate.NewMachine()
	job = job.DeepCopy()
	job.ResourceVersion = "7"
	view := fresh(job)
	view.Pods = pods
	if err := m.Begin(view); err != nil {
		t.Fatal(err)
	}
	return drive(t, m, job), m.Result()
}

// patches returns the patches of pods, by the name of the pod.
func patches(asked []jobfate.Request) map[string]string {
	got := map[string]string{}
	for _, r := range asked {
		if r.Verb == jobfate.PatchPod {
			got[r.Name] += string(r.Patch)
		}
	}
	return got
}

// The patch of a status contains the UID, the resource version and every field. The second
// patch has the resource version from the answer to the first.
func TestMachine_statusPatch(t *testing.T) {
	job := decidetest.SpecJob(t, "completions: 1")
	asked, result := requests(t, job, decidetest.PodIn(job, 1, corev1.PodSucceeded))
	var verbs, statuses, versions []string
	for _, r := range asked {
		verbs = append(verbs, r.Verb.String())
		if r.Verb == jobfate.PatchStatus {
			statuses, versions = append(statuses, string(r.Patch)), append(versions, r.ResourceVersion)
		}
	}
	if want := []string{"patch the status", "patch pod", "patch the status"}; !slices.Equal(verbs, want) {
		t.Fatalf("requests %v, want %v", verbs, want)
	}
	met := `{"type":"SuccessCriteriaMet","status":"True","lastProbeTime":"2026-01-01T12:00:00Z",` +
		`"lastTransitionTime":"2026-01-01T12:00:00Z","reason":"CompletionsReached","message":"Reached expected number of succeeded pods"}`
	want := []string{
		`{"metadata":{"resourceVersion":"7","uid":"job-1"},"status":{"active":null,"completedIndexes":null,"completionTime":null,` +
			`"conditions":[` + met + `],` +
			`"failed":null,"failedIndexes":null,"ready":0,"startTime":"2026-01-01T12:00:00Z","succeeded":null,"terminating":0,` +
			`"uncountedTerminatedPods":{"failed":null,"succeeded":["pod-1"]}}}`,
		`{"metadata":{"resourceVersion":"8","uid":"job-1"},"status":{"active":null,"completedIndexes":null,"completionTime":"2026-01-01T12:00:00Z",` +
			`"conditions":[` + met + `,` + strings.Replace(met, "SuccessCriteriaMet", "Complete", 1) + `],` +
			`"failed":null,"failedIndexes":null,"ready":0,"startTime":"2026-01-01T12:00:00Z","succeeded":1,"terminating":0,` +
			`"uncountedTerminatedPods":{"failed":null,"succeeded":null}}}`,
	}
	if diff := cmp.Diff(want, statuses); diff != "" {
		t.Errorf("the patches (-want +got):\n%s", diff)
	}
	if !slices.Equal(versions, []string{"7", "8"}) {
		t.Errorf("the requests name the versions %q, want 7 and 8, as the patches do", versions)
	}
	if !result.Ended || result.Decision.Status == nil || result.Decision.Idle() {
		t.Errorf("ended %t, decision %+v; want the end, after a status", result.Ended, result.Decision)
	}
}

// Patches of pods contain the UID, and also the resource version if the pod must not be
// counted. KEP-2307 § Pod adoption: "adds the finalizer in the same patch request that
// modifies the owner reference".
func TestMachine_podPatches(t *testing.T) {
	job := decidetest.SpecJob(t, "completions: 2\nparallelism: 1")
	orphan := decidetest.WithoutFinalizers(decidetest.PodIn(job, 1, corev1.PodRunning))
	orphan.OwnerReferences = nil
	odd := decidetest.PodIn(job, 1, corev1.PodRunning)
	odd.Labels = map[string]string{"other": "label"}
	stopped := job.DeepCopy()
	stopped.Spec.Parallelism = new(int32(0))
	const free = `{"metadata":{"uid":"pod-1","resourceVersion":"1","$deleteFromPrimitiveList/finalizers":["batch.kubernetes.io/job-tracking"]}}`
	for _, test := range []struct {
		name string
		job  *batchv1.Job
		pod  *corev1.Pod
		want string
	}{
		{"adoption", job, orphan, `{"metadata":{"uid":"pod-1","resourceVersion":"1","ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"job","uid":"job-1","controller":true,"blockOwnerDeletion":true}],"finalizers":["batch.kubernetes.io/job-tracking"]}}`},
		{"release", job, odd, `{"metadata":{"uid":"pod-1","ownerReferences":[{"$patch":"delete","uid":"job-1"}],"$deleteFromPrimitiveList/finalizers":["batch.kubernetes.io/job-tracking"]}}`},
		{"deletion that does not count", stopped, decidetest.PodIn(job, 1, corev1.PodRunning), free},
		{"deletion of a pod without the finalizer", stopped, decidetest.WithoutFinalizers(decidetest.PodIn(job, 1, corev1.PodRunning)), ""},
		{"counted", job, decidetest.PodIn(job, 1, corev1.PodFailed), `{"metadata":{"uid":"pod-1","$deleteFromPrimitiveList/finalizers":["batch.kubernetes.io/job-tracking"]}}`},
	} {
		asked, _ := requests(t, test.job, test.pod)
		if got := patches(asked)[test.pod.Name]; got != test.want {
			t.Errorf("%s: the patch is\n%s\nwant\n%s", test.name, got, test.want)
		}
		deletions := 0
		for _, r := range asked {
			if r.Verb != jobfate.DeletePod {
				continue
			}
			if deletions++; *r.Options.Preconditions.UID != test.pod.UID || r.Name != test.pod.Name {
				t.Errorf("%s: the deletion of %s has the preconditions %v", test.name, r.Name, r.Options.Preconditions)
			}
		}
		if (deletions == 1) != (test.job == stopped) {
			t.Errorf("%s: %d deletions in %v", test.name, deletions, asked)
		}
	}
}

// Pods of a finished Job without an owner, or that the Job does not select, lose their
// finalizer. They are neither adopted nor released.
func TestMachine_freesAfterTheEnd(t *testing.T) {
	job := decidetest.SpecJob(t, "completions: 1\nparallelism: 1")
	orphan, odd := decidetest.PodIn(job, 1, corev1.PodFailed), decidetest.PodIn(job, 2, corev1.PodRunning)
	orphan.OwnerReferences = nil
	odd.Labels = map[string]string{"other": "label"}
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	asked, _ := requests(t, job, odd, orphan)
	want := map[string]string{}
	for _, pod := range []*corev1.Pod{orphan, odd} {
		want[pod.Name] = fmt.Sprintf(`{"metadata":{"uid":%q,"resourceVersion":"1","$deleteFromPrimitiveList/finalizers":["batch.kubernetes.io/job-tracking"]}}`, pod.UID)
	}
	if diff := cmp.Diff(want, patches(asked)); diff != "" || len(asked) != 2 {
		t.Errorf("%d requests, the patches (-want +got):\n%s", len(asked), diff)
	}
}

// Begin returns an error for an invalid view and for a Job of another manager.
func TestMachine_begin(t *testing.T) {
	job := decidetest.SpecJob(t, "completions: 1")
	view := fresh(job)
	managed := view
	managed.Job = job.DeepCopy()
	managed.Job.Spec.ManagedBy = new("example.com/other")
	if err := jobfate.NewMachine().Begin(managed); !errors.Is(err, jobfate.ErrNotManaged) {
		t.Errorf("managed elsewhere: got %v", err)
	}
	var input *jobfate.InputError
	timeless := view
	timeless.Now = metav1.Time{}.Time
	if err := jobfate.NewMachine().Begin(timeless); !errors.As(err, &input) || input.Fields[0].Field != "now" {
		t.Errorf("no time: got %v", err)
	}
	m := jobfate.NewMachine()
	if r := m.Result(); r.Err == nil || m.Next() != nil || !m.Idle() {
		t.Errorf("before the first sync: %+v, idle %t", r, m.Idle())
	}
	if err := m.Begin(view); err != nil {
		t.Fatal(err)
	}
	batch := m.Next()
	if m.Idle() != true || m.String() != "nothing pending" {
		t.Errorf("before an answer: idle %t, %s", m.Idle(), m)
	}
	if err := m.Answer(batch[0], nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := m.Answer(batch[0], nil, nil); err == nil {
		t.Error("a second answer is accepted")
	}
	m.Next()
	if m.Idle() || m.String() != "waiting to observe 1 creations without an answer" {
		t.Errorf("after an answer without a pod: idle %t, %s", m.Idle(), m)
	}
}

// Begin names the field of a Job that a Machine cannot work with. A Job without a resource version
// is one only if the caches have versions: the Machine would wait forever to observe its first
// status write.
func TestMachine_beginNamesTheField(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*jobfate.View)
		want   string // the field, or empty for no error
	}{
		"no version of the Job":                    {func(v *jobfate.View) { v.Job.ResourceVersion = "" }, "metadata.resourceVersion"},
		"no barrier either":                        {func(v *jobfate.View) { v.Job.ResourceVersion, v.Barrier = "", "" }, "metadata.resourceVersion"},
		"a version of the status":                  {func(v *jobfate.View) { v.Job.ResourceVersion, v.StatusVersion = "", "7" }, ""},
		"no versions of the caches: it reads live": {func(v *jobfate.View) { v.Job.ResourceVersion, v.JobsVersion, v.PodsVersion = "", "", "" }, ""},
	} {
		v := fresh(decidetest.SpecJob(t, "completions: 1").DeepCopy())
		test.change(&v)
		err, got := jobfate.NewMachine().Begin(v), ""
		var input *jobfate.InputError
		if errors.As(err, &input) {
			got = input.Fields[0].Field
		}
		if got != test.want || err != nil && test.want == "" {
			t.Errorf("%s: got %v, want an error about %q", name, err, test.want)
		}
	}
	view := fresh(decidetest.SpecJob(t, "completions: 1").DeepCopy())
	view.Job.ResourceVersion, view.Job.Spec.ManagedBy = "", new("example.com/other")
	if err := jobfate.NewMachine().Begin(view); !errors.Is(err, jobfate.ErrNotManaged) {
		t.Errorf("a Job of another controller: got %v, want %v", err, jobfate.ErrNotManaged)
	}
}

// With the option Names, a Machine chooses the names of its pods.
func TestMachine_names(t *testing.T) {
	job := decidetest.SpecJob(t, "completions: 1")
	m := jobfate.NewMachine(jobfate.Names(func(prefix string) string { return prefix + "12345" }))
	if err := m.Begin(fresh(job)); err != nil {
		t.Fatal(err)
	}
	if got := m.Next(); len(got) != 1 || got[0].Pod.Name != "job-12345" {
		t.Errorf("requests %+v, want a pod with that name", got)
	}
}

// The options of a sync do not apply to the next one.
func TestMachine_optionsOfASync(t *testing.T) {
	job := decidetest.SpecJob(t, "completions: 3\nparallelism: 3")
	job.ResourceVersion = "7"
	view := fresh(job)
	m := jobfate.NewMachine(jobfate.MaxChanges(2))
	for i, test := range []struct {
		opts []jobfate.Option
		want int
	}{{nil, 2}, {[]jobfate.Option{jobfate.MaxChanges(1)}, 1}, {[]jobfate.Option{jobfate.MaxUncounted(5)}, 2}, {nil, 2}} {
		if err := m.Begin(view, test.opts...); err != nil {
			t.Fatal(err)
		}
		if got := len(m.Result().Decision.Create); got != test.want {
			t.Errorf("sync %d: %d to create, want %d", i, got, test.want)
		}
	}
}

// A zero Machine is one without options, and answers before it has begun.
func TestMachine_zero(t *testing.T) {
	var m jobfate.Machine
	made := jobfate.NewMachine()
	if got := m.Next(); len(got) != 0 || !m.Idle() || m.String() != made.String() || m.Result().Err.Error() != made.Result().Err.Error() {
		t.Errorf("before Begin: requests %v, idle %t, %q, result %+v", got, m.Idle(), m.String(), m.Result())
	}
	if err := m.Answer(jobfate.Request{}, nil, nil); err == nil {
		t.Error("an answer to no request is accepted")
	}
	m.Feed("pod", nil)
	job := decidetest.SpecJob(t, "completions: 1")
	if err := m.Begin(fresh(job)); err != nil {
		t.Fatal(err)
	}
	if got := m.Next(); len(got) != 1 || got[0].Verb != jobfate.CreatePod && got[0].Verb != jobfate.PatchStatus {
		t.Errorf("requests %v", got)
	}
}
