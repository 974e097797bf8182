package jobfate_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/tracking"
	"github.com/jobfate/jobfate/validation"
)

const noTemplate = `
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
`

// parseJob reads a Job in YAML; a text without "kind: Job" is only its spec. It
// returns the names of the failure policy's rules as well, which the API has no
// room for.
func parseJob(t testing.TB, manifest string) (job *batchv1.Job, names []string) {
	t.Helper()
	if !strings.Contains(manifest, "kind: Job") {
		manifest = "spec:\n  " + strings.ReplaceAll(strings.TrimSpace(manifest), "\n", "\n  ")
	}
	if !strings.Contains(manifest, "template:") {
		manifest = strings.TrimRight(manifest, "\n ") + noTemplate
	}
	var named struct {
		Spec struct {
			PodFailurePolicy failurepolicy.Spec `json:"podFailurePolicy"`
		} `json:"spec"`
	}
	job = &batchv1.Job{}
	for _, into := range []any{job, &named} {
		if err := yaml.Unmarshal([]byte(manifest), into); err != nil {
			t.Fatalf("%v in\n%s", err, manifest)
		}
	}
	isNamed := false
	for _, rule := range named.Spec.PodFailurePolicy.Rules {
		names = append(names, rule.Name)
		isNamed = isNamed || rule.Name != ""
	}
	if !isNamed {
		names = nil
	}
	return job, names
}

// specJob is a Job as the API server stores it, with the given spec.
func specJob(t testing.TB, manifest string) *batchv1.Job {
	t.Helper()
	job, _ := parseJob(t, manifest)
	return stored(t, job)
}

func stored(t testing.TB, job *batchv1.Job) *batchv1.Job {
	t.Helper()
	job.Namespace, job.UID, job.ResourceVersion = jobtest.Namespace, jobtest.JobUID, "1"
	job.CreationTimestamp = metav1.NewTime(jobtest.Noon())
	if job.Name == "" {
		job.Name = jobtest.JobName
	}
	job = validation.PrepareCreate(job)
	if errs := validation.Create(job); len(errs) > 0 {
		t.Fatalf("the API server refuses the Job: %v", errs.ToAggregate())
	}
	return job
}

func (w *world) create(manifest string) {
	w.t.Helper()
	job, names := parseJob(w.t, manifest)
	w.job, w.rv = stored(w.t, job), 1
	if names != nil {
		w.opts = append(w.opts, jobfate.RuleNames(names...))
	}
}

// edit changes the Job's spec as a user would.
func (w *world) edit(spec string) {
	w.t.Helper()
	var patch map[string]any
	if err := yaml.Unmarshal([]byte(spec), &patch); err != nil {
		w.t.Fatal(err)
	}
	next := w.job.DeepCopy()
	next.Spec = *merged(w.t, &w.job.Spec, patch)
	next.Generation++
	if errs := validation.Update(next, w.job); len(errs) > 0 {
		w.t.Fatalf("the API server refuses the change: %v", errs.ToAggregate())
	}
	w.put(next)
}

func (w *world) put(job *batchv1.Job) {
	w.rv++
	job.ResourceVersion = strconv.Itoa(w.rv)
	w.job = job
}

// merged applies a JSON merge patch.
func merged[T any](t testing.TB, old *T, patch map[string]any) *T {
	t.Helper()
	var object map[string]any
	raw, err := json.Marshal(old)
	if err == nil {
		err = json.Unmarshal(raw, &object)
	}
	if err == nil {
		raw, err = json.Marshal(merge(object, patch))
	}
	next := new(T)
	if err == nil {
		err = json.Unmarshal(raw, next)
	}
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func merge(to, from map[string]any) map[string]any {
	to = maps.Clone(to)
	if to == nil {
		to = map[string]any{}
	}
	for key, value := range from {
		if value == nil {
			delete(to, key)
		} else if object, ok := value.(map[string]any); ok {
			old, _ := to[key].(map[string]any)
			to[key] = merge(old, object)
		} else {
			to[key] = value
		}
	}
	return to
}

// statusPatch is a patch of the status subresource.
type statusPatch struct {
	Metadata struct {
		UID             types.UID
		ResourceVersion string
	}
	Status map[string]any
}

// patchStatus is the status subresource. A status that it would refuse ends the
// test: jobfate promises that there is none.
func (w *world) patchStatus(at statusPatch, status *batchv1.JobStatus) error {
	w.t.Helper()
	if at.Metadata.UID != w.job.UID || at.Metadata.ResourceVersion != w.job.ResourceVersion {
		return errConflict
	}
	next := w.job.DeepCopy()
	next.Status = *status
	if errs := validation.StatusUpdate(next, w.job); len(errs) > 0 {
		w.t.Fatalf("the API server refuses %s\nafter %s\n%v", toJSON(next.Status), toJSON(w.job.Status), errs.ToAggregate())
	}
	w.put(next)
	return nil
}

func (w *world) find(uid types.UID) int {
	return slices.IndexFunc(w.pods, func(p *corev1.Pod) bool { return p.UID == uid })
}

// change stores another version of a pod. A pod that is being deleted goes once
// nothing holds it: no finalizer, and no container that may still run.
func (w *world) change(uid types.UID, how func(*corev1.Pod)) {
	i := w.find(uid)
	pod := w.pods[i].DeepCopy()
	how(pod)
	w.rv++
	pod.ResourceVersion = strconv.Itoa(w.rv)
	w.pods[i] = pod
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || pod.Spec.NodeName == ""
	if pod.DeletionTimestamp != nil && len(pod.Finalizers) == 0 && ended {
		w.pods = slices.Delete(w.pods, i, i+1)
	}
}

func (w *world) createPod(pod *corev1.Pod) (name string, err error) {
	w.made++
	pod = pod.DeepCopy()
	pod.Name = fmt.Sprintf("%sp%d", pod.GenerateName, w.made)
	pod.UID = types.UID(fmt.Sprintf("uid-%04d", w.made))
	pod.CreationTimestamp = metav1.NewTime(w.now)
	pod.Status.Phase = corev1.PodPending
	w.pods = append(w.pods, pod)
	w.change(pod.UID, func(*corev1.Pod) {})
	return pod.Name, nil
}

// patchPod applies a strategic merge patch, as far as jobfate's patches go.
func (w *world) patchPod(pod *corev1.Pod, patch []byte) error {
	var p struct {
		Metadata struct {
			UID             types.UID
			ResourceVersion string
			OwnerReferences []struct {
				metav1.OwnerReference
				Directive string `json:"$patch"`
			}
			Finalizers []string
			Remove     []string `json:"$deleteFromPrimitiveList/finalizers"`
		}
	}
	if err := json.Unmarshal(patch, &p); err != nil {
		w.t.Fatalf("%v in %s", err, patch)
	}
	i := slices.IndexFunc(w.pods, func(o *corev1.Pod) bool { return o.Name == pod.Name })
	if i < 0 {
		return errGone
	}
	if m := p.Metadata; m.UID != w.pods[i].UID || m.ResourceVersion != "" && m.ResourceVersion != w.pods[i].ResourceVersion {
		return errConflict
	}
	w.change(pod.UID, func(pod *corev1.Pod) {
		for _, ref := range p.Metadata.OwnerReferences {
			pod.OwnerReferences = slices.DeleteFunc(pod.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == ref.UID })
			if ref.Directive != "delete" {
				pod.OwnerReferences = append(pod.OwnerReferences, ref.OwnerReference)
			}
		}
		pod.Finalizers = slices.DeleteFunc(append(pod.Finalizers, p.Metadata.Finalizers...), func(f string) bool {
			return slices.Contains(p.Metadata.Remove, f)
		})
		slices.Sort(pod.Finalizers)
		pod.Finalizers = slices.Compact(pod.Finalizers)
	})
	return nil
}

// deletePod is the request of a controller.
func (w *world) deletePod(pod *corev1.Pod, opts metav1.DeleteOptions) error {
	i := slices.IndexFunc(w.pods, func(o *corev1.Pod) bool { return o.Name == pod.Name })
	if i < 0 {
		return errGone
	}
	if *opts.Preconditions.UID != w.pods[i].UID {
		return errConflict
	}
	w.remove(pod.UID, 30)
	return nil
}

// What users, kubelets and other controllers do.

func (w *world) remove(uid types.UID, grace int64) {
	w.change(uid, func(pod *corev1.Pod) {
		if pod.DeletionTimestamp != nil {
			return
		}
		at := metav1.NewTime(w.now.Add(time.Duration(grace) * time.Second))
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &at, &grace
	})
}

func (w *world) vanish(uid types.UID) {
	i := w.find(uid)
	w.pods = slices.Delete(w.pods, i, i+1)
}

func (w *world) run(uid types.UID) {
	w.change(uid, func(pod *corev1.Pod) {
		pod.Spec.NodeName = "node"
		pod.Status.Phase = corev1.PodRunning
		setCondition(pod, corev1.PodReady, corev1.ConditionTrue, w.now)
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name:  pod.Spec.Containers[0].Name,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(w.now)}},
		}}
	})
}

// exit ends the container of a pod, and with it the pod.
func (w *world) exit(uid types.UID, code int32) {
	w.run(uid)
	w.change(uid, func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodSucceeded
		if code != 0 {
			pod.Status.Phase = corev1.PodFailed
		}
		setCondition(pod, corev1.PodReady, corev1.ConditionFalse, w.now)
		pod.Status.ContainerStatuses[0].State = corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.NewTime(w.now)},
		}
	})
}

// disrupt marks a pod that is about to be evicted.
func (w *world) disrupt(uid types.UID) {
	w.change(uid, func(pod *corev1.Pod) { setCondition(pod, corev1.DisruptionTarget, corev1.ConditionTrue, w.now) })
}

func setCondition(pod *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus, at time.Time) {
	pod.Status.Conditions = slices.DeleteFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: metav1.NewTime(at)})
}

// deleteJob deletes the Job in the foreground: it stays until its pods are gone.
func (w *world) deleteJob() {
	job, at := w.job.DeepCopy(), metav1.NewTime(w.now)
	job.DeletionTimestamp, job.Finalizers = &at, []string{metav1.FinalizerDeleteDependents}
	w.put(job)
}

// removeJob deletes the Job in the background: it is gone at once, and its pods
// are deleted after it.
func (w *world) removeJob() {
	w.job = nil
	for _, pod := range slices.Clone(w.pods) {
		w.remove(pod.UID, 30)
	}
}

// alive are the pods that have not ended, in the order of their creation.
func (w *world) alive() (pods []*corev1.Pod) {
	for _, pod := range w.pods {
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			pods = append(pods, pod)
		}
	}
	return pods
}

// ofIndex is the newest pod of an index that has not ended.
func (w *world) ofIndex(index int32) *corev1.Pod {
	w.t.Helper()
	for _, pod := range slices.Backward(w.alive()) {
		if tracking.IndexOf(pod) == index {
			return pod
		}
	}
	w.t.Fatalf("index %d has no pod that has not ended", index)
	return nil
}

// exitIndexes ends the pods of some indexes.
func (w *world) exitIndexes(code int32, indexes ...int32) {
	w.t.Helper()
	for _, i := range indexes {
		w.exit(w.ofIndex(i).UID, code)
	}
}
