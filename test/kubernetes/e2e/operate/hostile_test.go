package operate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/proxy"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
	"github.com/jobfate/jobfate/test/stories/script"
)

// claims holds the fields of a pod, besides its status, that a controller may change.
type claims struct {
	UID                 types.UID
	Labels, Annotations map[string]string
	Finalizers          []string
	Owners              []metav1.OwnerReference
	Deleted             bool
}

func claimsOf(pod *corev1.Pod) claims {
	return claims{pod.UID, pod.Labels, pod.Annotations, pod.Finalizers, pod.OwnerReferences, pod.DeletionTimestamp != nil}
}

// foreignPods holds pods of other owners in their original state.
type foreignPods struct {
	w    *world.World
	pods map[string]claims
}

// keep creates a pod that has another owner but looks like a pod of the Job.
func (s *foreignPods) keep(name string, job *batchv1.Job, change func(*corev1.Pod)) {
	s.w.T.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: maps.Clone(job.Spec.Template.Labels), Annotations: map[string]string{batchv1.JobCompletionIndexAnnotation: "0"},
		Finalizers: []string{batchv1.JobTrackingFinalizer},
	}}
	change(pod)
	s.pods[name] = claimsOf(createPod(s.w, pod))
}

// check fails the test if one of these pods was changed. It skips the given names.
func (s *foreignPods) check(names ...string) {
	s.w.T.Helper()
	for name, before := range s.pods {
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		if diff := gocmp.Diff(before, claimsOf(getPod(s.w, name))); diff != "" {
			s.w.T.Errorf("the pod %s of another owner was changed (-before +now):\n%s", name, diff)
		}
	}
}

// othersOf creates pods that look like pods of the Job in every way but one.
func othersOf(w *world.World, job *batchv1.Job) *foreignPods {
	w.T.Helper()
	template := job.Spec.Template.Spec.DeepCopy()
	template.RestartPolicy = corev1.RestartPolicyAlways
	labels := map[string]string{"app": "web"}
	set, err := w.Client.AppsV1().ReplicaSets(w.Namespace).Create(w.T.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: job.Name},
		Spec: appsv1.ReplicaSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: *template},
		},
	}, metav1.CreateOptions{})
	w.Must(err)
	jobKind := batchv1.SchemeGroupVersion.WithKind("Job")
	s := &foreignPods{w, map[string]claims{}}
	s.keep("of-a-replicaset", job, func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
	})
	s.keep("of-a-replicaset-that-owns-with-the-job", job, func(pod *corev1.Pod) {
		owner := *metav1.NewControllerRef(job, jobKind)
		owner.Controller = new(false)
		pod.OwnerReferences = []metav1.OwnerReference{owner, *metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
	})
	s.keep("of-a-kind-of-the-same-name", job, func(pod *corev1.Pod) {
		owner := *metav1.NewControllerRef(job, jobKind)
		owner.APIVersion = "batch.example.com/v1"
		pod.OwnerReferences = []metav1.OwnerReference{owner}
	})
	s.keep("owned-and-not-controlled", job, func(pod *corev1.Pod) {
		owner := *metav1.NewControllerRef(job, jobKind)
		owner.Controller = new(false)
		pod.OwnerReferences, pod.Labels, pod.Finalizers = []metav1.OwnerReference{owner}, nil, nil
	})
	s.keep("labels-of-another-job", job, func(pod *corev1.Pod) {
		pod.Finalizers = nil
		for key := range pod.Labels {
			if strings.Contains(key, "uid") {
				pod.Labels[key] = "another"
			}
		}
	})
	return s
}

// succeed ends all pods that the controller creates for the Job, until the Job has ended.
func succeed(w *world.World) {
	w.T.Helper()
	done := map[types.UID]bool{}
	w.When("the Job has ended", func(s script.State) bool {
		for _, pod := range s.Active() {
			if !done[pod.UID] && strings.HasPrefix(pod.Name, world.JobName+"-") {
				done[pod.UID] = true
				w.Become(kubelet.Succeed(), pod)
			}
		}
		return s.Ended()
	})
}

// ended waits until the Job has ended, and checks that no status was rejected and no error
// logged.
func ended(w *world.World, p *proxy.Proxy) script.State {
	w.T.Helper()
	s := w.When("the Job has ended", func(s script.State) bool { return s.Ended() })
	w.Observed()
	status := proxy.Call{Verb: "patch", Resource: "jobs/status"}
	if n := p.Answers(status, 422) + p.Answers(status, 400); n > 0 {
		w.T.Errorf("the API server has rejected %d statuses", n)
	}
	if log := w.Side.Log("level=ERROR", 5); log != "" {
		w.T.Errorf("logged: %s", log)
	}
	return s
}

// Pods of other owners that look like pods of a Job are neither counted, nor deleted, nor
// changed, while the Job runs, when it ends, and when it is deleted.
func TestPodsOfOtherOwners(t *testing.T) {
	t.Parallel()
	p, side := start(t, "others", server.Options{})
	w := newWorld(t, side, kubelet.Run())
	w.Create(at(3))
	s := w.Until("active=3 ready=3")
	pods := s.Active()
	others := othersOf(w, s.Job)
	w.Play("edit {suspend: true}\nwhen active=0\nevent Suspended")
	for _, pod := range pods {
		w.When("the pods of the Job are gone", func(s script.State) bool { return s.All[pod.Name] == nil })
	}
	others.check()
	w.Play("edit {suspend: false}")
	succeed(w)
	s = ended(w, p)
	if got := s.Job.Status; got.Succeeded != 3 || got.Failed != 0 {
		t.Errorf("%d pods have succeeded and %d failed, want 3 and none", got.Succeeded, got.Failed)
	}
	others.check()
	w.Play("delete-job Orphan\nwhen job=gone\nobserved")
	others.check("of-a-replicaset") // garbage collection changes the other pods
}

// Users who may create pods can give a Job more pods, with invalid or extreme annotations. The
// Job still ends, and counts no index that it does not have.
func TestAnnotationsWrittenByUsers(t *testing.T) {
	t.Parallel()
	p, side := start(t, "annotations", server.Options{})
	w := newWorld(t, side, kubelet.Run())
	spec := at(3)
	spec.BackoffLimit, spec.BackoffLimitPerIndex = nil, new(int32(2))
	w.Create(spec)
	s := w.Until("active=3 ready=3")
	const index, failures = batchv1.JobCompletionIndexAnnotation, "batch.kubernetes.io/job-index-failure-count"
	for i, annotations := range []map[string]string{
		{index: "-1"}, {index: "99999999999999999999"}, {index: "2147483647"}, {index: "one"}, {index: ""}, {index: "3"}, nil,
		{index: "+1"}, {index: "01"}, {index: "1", failures: "NaN"}, {index: "1", failures: "-7"}, {index: "1", failures: "99999999999999999999"},
		{index: "1", failures: "2147483647"}, {index: strings.Repeat("9", 100_000)},
		{index: "1", "batch.kubernetes.io/job-index-ignored-failure-count": strings.Repeat("7", 1000)},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("given-%d", i), Annotations: annotations, Labels: s.Job.Spec.Template.Labels, Finalizers: []string{batchv1.JobTrackingFinalizer},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s.Job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		}}
		w.Become(kubelet.Fail(1), createPod(w, pod))
	}
	w.Observed()
	succeed(w)
	s = ended(w, p)
	if completed := s.Job.Status.CompletedIndexes; completed != "0-2" && completed != "0,2" {
		t.Errorf("the completed indexes are %q, want all that have not failed", completed)
	}
	w.When("no pod carries the finalizer", func(s script.State) bool { return len(s.Tracked()) == 0 })
}

// Users who may write statuses can end a Job, or make it count successes and failures that never
// happened. The Job still ends with a status that the API server accepts, other Jobs run, and the
// pods of other owners are not changed.
func TestStatusesWrittenByUsers(t *testing.T) {
	t.Parallel()
	uids := func(n int) (all []types.UID) {
		for i := range n {
			all = append(all, types.UID(fmt.Sprintf("of-no-pod-%d", i)))
		}
		return all
	}
	condition := func(kind batchv1.JobConditionType, reason string) batchv1.JobCondition {
		return batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason}
	}
	p, side := start(t, "statuses", server.Options{Workers: 1})
	for name, change := range map[string]func(s *batchv1.JobStatus, other types.UID){
		"counts that are too high": func(s *batchv1.JobStatus, _ types.UID) {
			s.Active, s.Terminating = 1<<30, new(int32(1<<30))
		},
		"no counts":       func(s *batchv1.JobStatus, _ types.UID) { s.Active, s.Ready, s.Terminating = 0, nil, nil },
		"failures":        func(s *batchv1.JobStatus, _ types.UID) { s.Failed = 1<<31 - 1 },
		"almost too many": func(s *batchv1.JobStatus, _ types.UID) { s.Failed = 3 },
		"a success":       func(s *batchv1.JobStatus, _ types.UID) { s.Succeeded, s.CompletedIndexes = 1, "1" },
		"criteria met": func(s *batchv1.JobStatus, _ types.UID) {
			s.Conditions = append(s.Conditions, condition(batchv1.JobSuccessCriteriaMet, "Because"))
		},
		"failure target": func(s *batchv1.JobStatus, _ types.UID) {
			s.Conditions = append(s.Conditions, condition(batchv1.JobFailureTarget, "Because"))
		},
		"many conditions": func(s *batchv1.JobStatus, _ types.UID) {
			for i := range 500 {
				s.Conditions = append(s.Conditions, condition(batchv1.JobConditionType(fmt.Sprintf("example.com/c-%d", i)), "Because"))
			}
		},
		"a false condition before a true one": func(s *batchv1.JobStatus, _ types.UID) {
			s.Conditions = append(s.Conditions, batchv1.JobCondition{Type: batchv1.JobFailureTarget, Status: corev1.ConditionFalse}, condition(batchv1.JobFailureTarget, "Because"))
		},
		"uncounted failures without a pod": func(s *batchv1.JobStatus, _ types.UID) {
			s.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: uids(1000)}
		},
		"uncounted successes without a pod": func(s *batchv1.JobStatus, _ types.UID) {
			s.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: uids(1)}
		},
		"another owner's pod is uncounted": func(s *batchv1.JobStatus, other types.UID) {
			s.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{other}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, side, kubelet.Run())
			spec := at(2)
			spec.BackoffLimit, spec.ActiveDeadlineSeconds = new(int32(3)), new(int64(10_000))
			w.Create(spec)
			s := w.Until("active=2 ready=2")
			mine, others := s.Active(), othersOf(w, s.Job)
			status := s.Job.Status.DeepCopy()
			change(status, others.pods["of-a-replicaset"].UID)
			patch, err := json.Marshal(map[string]any{"status": status})
			w.Must(err)
			_, err = w.Client.BatchV1().Jobs(w.Namespace).Patch(t.Context(), s.Job.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
			w.Must(err)
			w.Observed()
			succeed(w)
			ended(w, p)
			others.check()
			w.When("the pods of the Job are free", func(s script.State) bool {
				for _, pod := range mine {
					if now := s.All[pod.Name]; now != nil && len(now.Finalizers) > 0 {
						return false
					}
				}
				return true
			})
		})
	}
}
