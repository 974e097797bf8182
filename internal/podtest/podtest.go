// Package podtest makes Jobs and pods for tests of the packages that read them, and compares what
// these return. Tests import it with a dot.
package podtest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"
)

// Must returns a value that cannot be had if there is an error.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// NoError ends the test if there is an error.
func NoError(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// FromJSON returns what a JSON text says.
func FromJSON[T any](text []byte) T {
	v := new(T)
	return *Must(v, json.Unmarshal(text, v))
}

// ToJSON returns a value as JSON.
func ToJSON(v any) string { return string(Must(json.Marshal(v))) }

// Noon is the present time of the tests.
func Noon() time.Time { return time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC) }

// After returns the time that many seconds after noon.
func After(seconds int) metav1.Time {
	return metav1.NewTime(Noon().Add(time.Duration(seconds) * time.Second))
}

// NewJob returns the Job that the pods of Pod belong to, with the metadata that the API server sets.
func NewJob() *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "job-uid", ResourceVersion: "1"},
		Spec: batchv1.JobSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "job"}},
		},
	}
}

// PlainJob returns a Job of one pod in the namespace default, as a user writes it.
func PlainJob(name string) *batchv1.Job {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	job.Spec.Template.Spec = MinimalPodSpec()
	return job
}

// MinimalPodSpec returns what the API server requires of the pods of a Job.
func MinimalPodSpec() corev1.PodSpec {
	return corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{Name: "main", Image: "image"}}}
}

// Edit changes a pod that Pod makes.
type Edit func(*corev1.Pod)

// Pod returns a running pod of the Job "job" that carries the finalizer.
func Pod(uid string, edits ...Edit) *corev1.Pod {
	pod := PodOf(NewJob(), uid, "7")
	pod.Name, pod.Labels = "pod-"+uid, map[string]string{"app": "job"}
	pod.CreationTimestamp, pod.Status.Phase = After(-60), corev1.PodRunning
	for _, e := range edits {
		e(pod)
	}
	return pod
}

// Phase sets the phase of a pod.
func Phase(p corev1.PodPhase) Edit { return func(pod *corev1.Pod) { pod.Status.Phase = p } }

// Exit terminates the only container of a pod with an exit code. With 0 the pod succeeds.
func Exit(code int32, finished metav1.Time) Edit {
	return func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodFailed
		if code == 0 {
			pod.Status.Phase = corev1.PodSucceeded
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "main",
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code,
				FinishedAt: finished}},
		}}
	}
}

// Succeeded ends a pod with success, at noon.
func Succeeded(pod *corev1.Pod) { Exit(0, After(0))(pod) }

// Failed ends a pod with exit code 1, at noon.
func Failed(pod *corev1.Pod) { Exit(1, After(0))(pod) }

// Deleted requests the deletion of a pod.
func Deleted(pod *corev1.Pod) {
	pod.DeletionTimestamp = new(After(-1))
}

// Released removes all finalizers from a pod.
func Released(pod *corev1.Pod) { pod.Finalizers = nil }

// Ownerless removes all owner references from a pod.
func Ownerless(pod *corev1.Pod) { pod.OwnerReferences = nil }

// ControlledBy sets two owner references of a pod. The second one is the controller, with
// the given UID.
func ControlledBy(uid types.UID) Edit {
	return func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "config", Controller: new(false)},
			{APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: uid, Controller: new(true)},
		}
	}
}

// Label sets a label of a pod.
func Label(key, value string) Edit {
	return func(pod *corev1.Pod) { pod.Labels[key] = value }
}

// Annotation sets an annotation of a pod.
func Annotation(key, value string) Edit {
	return func(pod *corev1.Pod) {
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[key] = value
	}
}

// Index sets the index annotation.
func Index(text string) Edit { return Annotation(batchv1.JobCompletionIndexAnnotation, text) }

// Failures sets the annotation with the failure count of the index.
func Failures(text string) Edit { return Annotation(batchv1.JobIndexFailureCountAnnotation, text) }

// Indexed makes a Job Indexed.
func Indexed(completions int32) func(*batchv1.Job) {
	return func(job *batchv1.Job) {
		job.Spec.CompletionMode, job.Spec.Completions = new(batchv1.IndexedCompletion), &completions
	}
}

// PerIndex sets the backoff limit per index.
func PerIndex(limit int32) func(*batchv1.Job) {
	return func(job *batchv1.Job) { job.Spec.BackoffLimitPerIndex = &limit }
}

// Has adds conditions that are True.
func Has(types ...batchv1.JobConditionType) func(*batchv1.Job) {
	return func(job *batchv1.Job) {
		job.Status.Conditions = append(job.Status.Conditions, Each(types, Yes)...)
	}
}

// IsTrue reports whether a Job has one of the conditions with the status True.
func IsTrue(job *batchv1.Job, types ...batchv1.JobConditionType) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && slices.Contains(types, c.Type)
	})
}

// ExitRule adds a rule on an exit code to the pod failure policy.
func ExitRule(action batchv1.PodFailurePolicyAction, code int32) func(*batchv1.Job) {
	return func(job *batchv1.Job) {
		if job.Spec.PodFailurePolicy == nil {
			job.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{}
		}
		job.Spec.PodFailurePolicy.Rules = append(job.Spec.PodFailurePolicy.Rules, OnExit(action, code))
	}
}

// OnExit returns a rule for an exit code.
func OnExit(action batchv1.PodFailurePolicyAction, code int32) batchv1.PodFailurePolicyRule {
	return batchv1.PodFailurePolicyRule{Action: action, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
		Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{code}}}
}

// OnDisruption returns a rule for pods that are disrupted.
func OnDisruption(action batchv1.PodFailurePolicyAction) batchv1.PodFailurePolicyRule {
	return batchv1.PodFailurePolicyRule{Action: action,
		OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
			{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}}
}

// Stated returns a condition with every field set.
func Stated(t batchv1.JobConditionType, status corev1.ConditionStatus) batchv1.JobCondition {
	return batchv1.JobCondition{Type: t, Status: status, Reason: string(t) + "Reason", Message: string(t) + " message",
		LastProbeTime: After(-9), LastTransitionTime: After(-9)}
}

// Yes returns a condition with the status True.
func Yes(t batchv1.JobConditionType) batchv1.JobCondition { return Stated(t, corev1.ConditionTrue) }

// No returns a condition with the status False.
func No(t batchv1.JobConditionType) batchv1.JobCondition { return Stated(t, corev1.ConditionFalse) }

// ConditionTypes returns the types of conditions that Kubernetes knows, and another one.
func ConditionTypes() []batchv1.JobConditionType {
	return []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuspended,
		batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet, "Other"}
}

// Train returns a Job at version 10 with the given parallelism.
func Train(parallelism int32) *batchv1.Job {
	job := NewJob()
	job.Name, job.ResourceVersion = "train", "10"
	job.Spec = batchv1.JobSpec{Parallelism: &parallelism, Completions: &parallelism}
	job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"job": "train"}}
	job.Spec.Template.Labels = map[string]string{"job": "train"}
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return job
}

// PodOf returns a pod of a Job at a version.
func PodOf(job *batchv1.Job, uid, version string, edits ...Edit) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: job.Namespace, Name: "train-" + uid, UID: types.UID(uid), ResourceVersion: version,
		Labels: job.Spec.Template.Labels, Finalizers: []string{batchv1.JobTrackingFinalizer},
	}}
	owner := metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))
	pod.OwnerReferences = []metav1.OwnerReference{*owner}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

// Unlabelled removes the labels of a pod.
func Unlabelled(pod *corev1.Pod) { pod.Labels = nil }

// Ready makes a pod run and be ready.
func Ready(pod *corev1.Pod) {
	Phase(corev1.PodRunning)(pod)
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

// Texts returns what the elements of a list print, sorted.
func Texts[T fmt.Stringer](all []T) (texts []string) {
	texts = Each(all, T.String)
	slices.Sort(texts)
	return texts
}

// WithConditions returns a Job with these conditions.
func WithConditions(conditions ...batchv1.JobCondition) *batchv1.Job {
	return &batchv1.Job{Status: batchv1.JobStatus{Conditions: conditions}}
}

// UIDsOf returns the UIDs of pods, in their order.
func UIDsOf(pods []*corev1.Pod) []types.UID {
	return Each(pods, func(pod *corev1.Pod) types.UID { return pod.UID })
}

// Each returns what a function returns for each element of a list.
func Each[T, U any](list []T, of func(T) U) (all []U) {
	for _, x := range list {
		all = append(all, of(x))
	}
	return all
}

// Pair holds the two results of a function, to be compared.
func Pair(a, b any) [2]any { return [2]any{a, b} }

// Fields returns the fields of errors.
func Fields(errs field.ErrorList) []string {
	return Each(errs, func(err *field.Error) string { return err.Field })
}

// UIDs returns the UIDs.
func UIDs(uids ...types.UID) []types.UID { return uids }

// Lists returns uncounted lists.
func Lists(succeeded, failed []types.UID) *batchv1.UncountedTerminatedPods {
	return &batchv1.UncountedTerminatedPods{Succeeded: succeeded, Failed: failed}
}

// Inputs holds objects that the code under test gets and must not change.
type Inputs []input

type input struct{ object, before runtime.Object }

// Add adds an object as it is now. It ignores nil.
func (in *Inputs) Add(object runtime.Object) {
	if v := reflect.ValueOf(object); v.IsValid() && !v.IsNil() {
		*in = append(*in, input{object, object.DeepCopyObject()})
	}
}

// AddFields adds an object without what its fields point to, which is much faster.
func (in *Inputs) AddFields(object runtime.Object) {
	switch o := object.(type) {
	case *batchv1.Job:
		if o != nil {
			before := *o
			*in = append(*in, input{o, &before})
		}
	case *corev1.Pod:
		if o != nil {
			before := *o
			*in = append(*in, input{o, &before})
		}
	case *corev1.PodList:
		for i := range o.Items {
			in.AddFields(&o.Items[i])
		}
	}
}

// AddView adds a Job and its pods.
func (in *Inputs) AddView(job *batchv1.Job, pods []*corev1.Pod) {
	in.Add(job)
	for _, pod := range pods {
		in.Add(pod)
	}
}

// Changed describes the first object that has changed since it was added; empty if none has.
func (in Inputs) Changed() string {
	for _, o := range in {
		if !reflect.DeepEqual(o.object, o.before) {
			return fmt.Sprintf("an object of the caller has changed:\n got  %+v\n want %+v", o.object, o.before)
		}
	}
	return ""
}

// Same fails the test when got is not want.
func Same[T any](t rapid.TB, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got  %+v\n want %+v", what, got, want)
	}
}

// SharesNothing fails the test if what two pointers of one type point to is not equal, or refers to the same memory,
// apart from that of texts and times.
func SharesNothing(t rapid.TB, a, b any) {
	t.Helper()
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%+v is copied as %+v", a, b)
	} else if of := shared(reflect.ValueOf(a), reflect.ValueOf(b)); of != nil {
		t.Errorf("both have the same %s", of)
	}
}

// shared returns the type of the first memory that two equal values share; nil if there is none.
func shared(a, b reflect.Value) (of reflect.Type) {
	switch a.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if a.Kind() == reflect.Pointer && a.IsNil() || a.Kind() != reflect.Pointer && a.Len() == 0 {
			return nil
		}
		if a.Pointer() == b.Pointer() {
			return a.Type()
		}
	}
	switch a.Kind() {
	case reflect.Pointer:
		return shared(a.Elem(), b.Elem())
	case reflect.Slice:
		for i := 0; i < a.Len() && of == nil; i++ {
			of = shared(a.Index(i), b.Index(i))
		}
	case reflect.Map:
		for keys := a.MapRange(); keys.Next() && of == nil; {
			of = shared(keys.Value(), b.MapIndex(keys.Key()))
		}
	case reflect.Struct:
		for i := 0; i < a.NumField() && of == nil; i++ {
			if a.Type().Field(i).IsExported() {
				of = shared(a.Field(i), b.Field(i))
			}
		}
	}
	return of
}

// FullStatus returns a status with every field set. Its conditions are complete.
func FullStatus() *batchv1.JobStatus {
	return &batchv1.JobStatus{
		Conditions: []batchv1.JobCondition{Yes(batchv1.JobSuspended), No(batchv1.JobFailed)},
		StartTime:  new(After(1)), CompletionTime: new(After(2)),
		Active: 3, Succeeded: 4, Failed: 5, Terminating: new(int32(6)), Ready: new(int32(7)),
		CompletedIndexes: "0-3", FailedIndexes: new("5"),
		UncountedTerminatedPods: Lists([]types.UID{"s"}, []types.UID{"f"}),
	}
}

// The rules of ExitCodePolicy, by the exit code that they match.
const (
	ExitPlain = 1 + iota // no rule
	ExitCount
	ExitIgnore
	ExitFailIndex
	ExitFailJob
)

// ActionOf returns the action of the rule that matches an exit code; empty if there is none.
func ActionOf(code int32) batchv1.PodFailurePolicyAction {
	return map[int32]batchv1.PodFailurePolicyAction{
		ExitCount:     batchv1.PodFailurePolicyActionCount,
		ExitIgnore:    batchv1.PodFailurePolicyActionIgnore,
		ExitFailIndex: batchv1.PodFailurePolicyActionFailIndex,
		ExitFailJob:   batchv1.PodFailurePolicyActionFailJob,
	}[code]
}

// ExitCodePolicy returns a policy with one rule for each exit code that has an action.
func ExitCodePolicy() *batchv1.PodFailurePolicy {
	policy := &batchv1.PodFailurePolicy{}
	for code := int32(ExitCount); code <= ExitFailJob; code++ {
		policy.Rules = append(policy.Rules, OnExit(ActionOf(code), code))
	}
	return policy
}
