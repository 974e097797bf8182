package validation_test

import (
	"encoding/json"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/kubernetes"
	"github.com/jobfate/jobfate/validation"
	"github.com/jobfate/jobfate/validation/defaulting"
)

// Tests that pin unexpected behaviour of the API server.

func plainJob() *batchv1.Job {
	j := &batchv1.Job{}
	j.Name, j.Namespace, j.UID, j.ResourceVersion = "job", "ns", "uid", "1"
	j.Spec.CompletionMode = new(batchv1.IndexedCompletion)
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	j.Spec.Template.Spec.Containers = []corev1.Container{container("main")}
	return j
}

// If parallelism is set, completions get no default. The validation of the success policy dereferences
// them anyway.
func TestSuccessPolicyWithoutCompletionsPanics(t *testing.T) {
	j := plainJob()
	j.Spec.Parallelism = new(int32(3))
	j.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: new("0")}}}
	if errs, err := realCreate(realPrepare(j)); err == nil {
		t.Errorf("the API server says %v, want a panic", errs)
	}
	got := validation.Create(defaulting.Prepared(j))
	if len(got) != 1 || got[0].Type != field.ErrorTypeRequired || got[0].Field != "spec.completions" {
		t.Errorf("jobfate says %v, want an error that completions are required", got)
	}
}

// KEP-3850: "It can only be set when Job's completionMode=Indexed, and the Pod's restart
// policy is Never." Nothing checks the restart policy.
func TestPerIndexWithOnFailureIsAccepted(t *testing.T) {
	j := plainJob()
	j.Spec.Completions, j.Spec.BackoffLimitPerIndex = new(int32(3)), new(int32(1))
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	want, err := realCreate(realPrepare(j))
	if err != nil || len(lines(want)) != 0 {
		t.Errorf("the API server says %v, %v, want nothing", want, err)
	}
	compare(t, "Create", validation.Create(defaulting.Prepared(j), asReleased()), want)
}

// The API server drops a field of the template whose gate is off, and annotations that it no longer reads,
// before it compares the template with the old one.
func TestFieldsThatAreDropped(t *testing.T) {
	old := defaulting.Prepared(plainJob())
	old.Spec.Template.Spec, old.CreationTimestamp = *defaulting.PodSpec(&old.Spec.Template.Spec), *times()[0]
	for name, edit := range map[string]func(*corev1.PodTemplateSpec){
		"a field": func(s *corev1.PodTemplateSpec) {
			s.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{StopSignal: new(corev1.SIGUSR1)}
		},
		"an annotation": func(s *corev1.PodTemplateSpec) {
			s.Annotations = map[string]string{"pod.beta.kubernetes.io/init-containers": "[]"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			changed := old.DeepCopy()
			edit(&changed.Spec.Template)
			want, err := realUpdate(changed, old)
			if err != nil || len(want) > 0 {
				t.Errorf("the API server says %v, %v, want nothing", want, err)
			}
			if got := validation.Update(changed, old); len(got) != 1 || got[0].Field != "spec.template" {
				t.Errorf("jobfate says %v, want only that the template is immutable", got)
			}
		})
	}
}

// The API server fills in what a request leaves out of the metadata, and keeps what it may not change
// (k8s.io/apiserver/pkg/registry/rest/update.go BeforeUpdate).
func TestMetadataOfUpdates(t *testing.T) {
	old := defaulting.Prepared(plainJob())
	old.Generation, old.CreationTimestamp, old.DeletionTimestamp = 3, *times()[0], times()[1]
	old.DeletionGracePeriodSeconds, old.Finalizers = new(int64(0)), []string{metav1.FinalizerDeleteDependents}
	for name, edit := range map[string]func(*batchv1.Job){
		"nothing":              func(*batchv1.Job) {},
		"no creation time":     func(j *batchv1.Job) { j.CreationTimestamp = metav1.Time{} },
		"another deletion":     func(j *batchv1.Job) { j.DeletionTimestamp = times()[2] },
		"another generation":   func(j *batchv1.Job) { j.Generation = -1 },
		"not deleted":          func(j *batchv1.Job) { j.DeletionTimestamp, j.DeletionGracePeriodSeconds = nil, nil },
		"another grace period": func(j *batchv1.Job) { j.DeletionGracePeriodSeconds = new(int64(30)) },
		"no UID":               func(j *batchv1.Job) { j.UID = "" },
		"another UID":          func(j *batchv1.Job) { j.UID = "other" },
		"generateName":         func(j *batchv1.Job) { j.GenerateName = "a/b" },
		"no version":           func(j *batchv1.Job) { j.ResourceVersion = "" },
		"a label":              func(j *batchv1.Job) { j.Labels = map[string]string{"-": "x"} },
		"a finalizer":          func(j *batchv1.Job) { j.Finalizers = []string{"x"} },
	} {
		t.Run(name, func(t *testing.T) {
			changed := old.DeepCopy()
			edit(changed)
			want := podtest.Must(realUpdate(changed, old))
			got := answer(validation.Update(changed, old, asReleased()))
			compare(t, "Update", errorsOf(got), errorsOf(want))
			changed.Status.Active = 1
			got = answer(validation.StatusUpdate(changed, old, asReleased()))
			compare(t, "StatusUpdate", errorsOf(got), errorsOf(realStatusRequest(changed, old)))
		})
	}
}

// scheduled is a Job with a part of a spec in JSON. The API types of 1.36 drop spec.scheduling.
func scheduled(spec string, annotations ...string) *batchv1.Job {
	j := plainJob()
	j.Annotations = map[string]string{}
	for _, key := range annotations {
		j.Annotations[key] = "x"
	}
	if err := json.Unmarshal([]byte(spec), &j.Spec); err != nil {
		panic(err)
	}
	return j
}

const (
	basic = `{"scheduling":{"schedulingPolicy":{"basic":{}}}}`
	gang  = `{"scheduling":{"schedulingPolicy":{"gang":{"minCount":1}}}}`
)

// While the gates WorkloadWithJob and GenericWorkload are off, as by default, the API server drops spec.scheduling and
// template.spec.schedulingGroup from a new Job before it validates it. jobfate ignores them.
func TestDivergence_newJobWithScheduling(t *testing.T) {
	const group = `"template":{"spec":{"schedulingGroup":{"podGroupName":"g"}}}}`
	for _, spec := range []string{basic, gang, basic[:len(basic)-1] + "," + group} {
		j := scheduled(spec, workloadName, groupTemplateName)
		if verdict := compareCreation(t, j); verdict != accepted {
			t.Errorf("the API server %s the Job with %s", verdict, spec)
		}
	}
}

// Only a server on which the gate was on has Jobs with spec.scheduling. jobfate ignores the rules for their updates.
func TestDivergence_storedScheduling(t *testing.T) {
	const forbidden, cleared = "spec.scheduling Forbidden", "spec.scheduling Invalid value: null: field cannot be cleared once set"
	const both = "spec.scheduling Invalid value: must not be set together with the " + workloadName + " annotation"
	for _, c := range []struct {
		name     string
		was, now *batchv1.Job
		from     int    // the first release that rejects the update; 0: none
		want     string // the last error
	}{
		{"set", scheduled("{}"), scheduled(basic), 0, ""}, // it is dropped
		{"kept", scheduled(basic), scheduled(basic), 0, ""},
		{"kept with annotations", scheduled(basic, workloadName, groupTemplateName), scheduled(basic, workloadName, groupTemplateName), 0, ""},
		{"annotations added", scheduled(basic), scheduled(basic, workloadName, groupTemplateName), 38, both},
		{"changed", scheduled(gang), scheduled(basic), 37, forbidden},
		{"removed", scheduled(gang), scheduled("{}"), 37, cleared},
	} {
		t.Run(c.name, func(t *testing.T) {
			now, was := defaulting.Prepared(c.now), defaulting.Prepared(c.was)
			reasons, err := realUpdate(now, was)
			got, want := "", ""
			if len(reasons) > 0 {
				last := reasons[len(reasons)-1]
				got = last.Field + " " + last.Message
			}
			if c.from != 0 && kubernetes.Minor() >= c.from {
				want = c.want
			}
			if err != nil || got != want {
				t.Errorf("the API server says %q, %v, want %q", got, err, want)
			}
			if errs := validation.Update(now, was, asReleased()); len(errs) > 0 {
				t.Errorf("jobfate says %v, want nothing", errs)
			}
		})
	}
}
