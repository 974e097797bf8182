package operate

import (
	"maps"
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

// lookAlikes creates pods that look like pods of the Job in every way but one, and returns them in their original state.
func lookAlikes(w *world.World, job *batchv1.Job) map[string]claims {
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
	ofSet := *metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
	ofJob := *metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))
	ofKind, notControlled := ofJob, ofJob
	ofKind.APIVersion = "batch.example.com/v1"
	notControlled.Controller = new(false)
	pods := map[string]claims{}
	for name, change := range map[string]func(*corev1.Pod){
		"of-a-replicaset": func(pod *corev1.Pod) { pod.OwnerReferences = []metav1.OwnerReference{ofSet} },
		"of-a-replicaset-that-owns-with-the-job": func(pod *corev1.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{notControlled, ofSet}
		},
		"of-a-kind-of-the-same-name": func(pod *corev1.Pod) { pod.OwnerReferences = []metav1.OwnerReference{ofKind} },
		"owned-and-not-controlled": func(pod *corev1.Pod) {
			pod.OwnerReferences, pod.Labels, pod.Finalizers = []metav1.OwnerReference{notControlled}, nil, nil
		},
		"labels-of-another-job": func(pod *corev1.Pod) {
			pod.Finalizers = nil
			pod.Labels[batchv1.ControllerUidLabel], pod.Labels["controller-uid"] = "another", "another"
		},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: maps.Clone(job.Spec.Template.Labels), Annotations: map[string]string{batchv1.JobCompletionIndexAnnotation: "0"},
			Finalizers: []string{batchv1.JobTrackingFinalizer},
		}}
		change(pod)
		pods[name] = claimsOf(createPod(w, pod))
	}
	return pods
}

// succeed ends all pods that the controller creates for the Job, until the Job has ended, and checks that no status was
// rejected and no error logged.
func succeed(w *world.World, p *proxy.Proxy) script.State {
	w.T.Helper()
	done := map[types.UID]bool{}
	s := w.When("the Job has ended", func(s script.State) bool {
		for _, pod := range s.Active() {
			if !done[pod.UID] && strings.HasPrefix(pod.Name, world.JobName+"-") {
				done[pod.UID] = true
				w.Become(kubelet.Succeed(), pod)
			}
		}
		return s.Ended()
	})
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
	others := lookAlikes(w, s.Job)
	unchanged := func(name string) {
		t.Helper()
		if diff := gocmp.Diff(others[name], claimsOf(getPod(w, name))); diff != "" {
			t.Errorf("the pod %s of another owner was changed (-before +now):\n%s", name, diff)
		}
	}
	w.Play("edit {suspend: true}\nwhen active=0\nevent Suspended")
	for _, pod := range pods {
		w.When("the pods of the Job are gone", func(s script.State) bool { return s.All[pod.Name] == nil })
	}
	for name := range others {
		unchanged(name)
	}
	w.Play("edit {suspend: false}")
	s = succeed(w, p)
	if got := s.Job.Status; got.Succeeded != 3 || got.Failed != 0 {
		t.Errorf("%d pods have succeeded and %d failed, want 3 and none", got.Succeeded, got.Failed)
	}
	for name := range others {
		unchanged(name)
	}
	w.Play("delete-job Orphan\nwhen job=gone\nobserved")
	unchanged("of-a-replicaset") // garbage collection changes the other pods
}

// Users who may write statuses can end a Job, or make it count successes and failures that never
// happened. The Job still ends with a status that the API server accepts.
func TestStatusesWrittenByUsers(t *testing.T) {
	t.Parallel()
	p, side := start(t, "statuses", server.Options{Workers: 1})
	for name, status := range map[string]string{
		"counts that are too high": `{"active": 1073741824, "terminating": 1073741824}`,
		"no counts":                `{"active": 0, "ready": null, "terminating": null}`,
		"failures":                 `{"failed": 2147483647}`,
		"a success":                `{"succeeded": 1, "completedIndexes": "1"}`,
		"criteria met":             `{"conditions": [{"type": "SuccessCriteriaMet", "status": "True", "reason": "Because"}]}`,
		"failure target":           `{"conditions": [{"type": "FailureTarget", "status": "True", "reason": "Because"}]}`,
		"false, then true":         `{"conditions": [{"type": "FailureTarget", "status": "False"}, {"type": "FailureTarget", "status": "True", "reason": "Because"}]}`,
		"uncounted without a pod":  `{"uncountedTerminatedPods": {"failed": ["of-no-pod"], "succeeded": ["nor-this"]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, side, kubelet.Run())
			w.Create(at(2))
			w.Until("active=2 ready=2")
			_, err := w.Client.BatchV1().Jobs(w.Namespace).Patch(t.Context(), world.JobName, types.MergePatchType,
				[]byte(`{"status": `+status+`}`), metav1.PatchOptions{}, "status")
			w.Must(err)
			w.Observed()
			succeed(w, p)
			w.Settle()
		})
	}
}
