package controller

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube"
	"github.com/jobfate/jobfate/machine"
)

// checked is a manager that passes its readiness check to the test.
type checked struct {
	manager.Manager
	ready healthz.Checker
}

func (c *checked) AddReadyzCheck(_ string, ready healthz.Checker) error {
	c.ready = ready
	return nil
}

// Only the Jobs of the given namespaces run. The readiness check reports a namespace that does not
// exist until it is created.
func TestNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		for _, name := range []string{"a", "b", "other"} {
			c.createNamespace(t, name)
			c.createWith(t, name, batchv1.JobSpec{}, "job")
		}
		mgr := &checked{Manager: c.manager(t, nil)}
		NoError(t, Add(mgr, Options{Namespaces: []string{"a", "b", "late"}}))
		stop := run(t, mgr)
		time.Sleep(time.Second)
		if err := mgr.ready(nil); err == nil || err.Error() != "the namespace late does not exist" {
			t.Errorf("ready: got %v, want the error that late does not exist", err)
		}
		c.createNamespace(t, "late")
		c.createWith(t, "late", batchv1.JobSpec{}, "job")
		time.Sleep(20 * time.Second)
		Same(t, "ready, since the namespace exists", mgr.ready(nil), nil)
		c.work()
		stop()
		for _, name := range []string{"a", "b", "late", "other"} {
			job, _ := kube.Get[*batchv1.Job](c.Server, name, "job")
			Same(t, "the Job in "+name+" has ended", job.Status.CompletionTime != nil, name != "other")
		}
		if len(c.errors) != 1 || !strings.Contains(c.errors[0], "late") {
			t.Errorf("logged: %q, want one error: late does not exist", c.errors)
		}
	})
}

// An older API server would drop spec.managedBy, so the controller does not start.
func TestOldServer(t *testing.T) {
	for info, want := range map[string]string{
		`"gitVersion":"v1.31.9"`:                                            "the API server is v1.31.9 and emulates v1.31.9, but at least 1.32 is required",
		`"gitVersion":"v1.32.0"`:                                            "",
		`"gitVersion":"v1.32.0-alpha.1+x"`:                                  "",
		`"gitVersion":"v1.40.1-eks-1234"`:                                   "",
		`"gitVersion":"unknown"`:                                            "",
		`"gitVersion":"v0.0.0-master+$Format"`:                              "",
		`"gitVersion":"v1.34.1","emulationMajor":"1","emulationMinor":"31"`: "the API server is v1.34.1 and emulates 1.31, but at least 1.32 is required",
		`"gitVersion":"v1.34.1","emulationMajor":"1","emulationMinor":"32"`: "",
	} {
		client := transport(func(*http.Request) (*http.Response, error) {
			return answer(200, `{`+info+`}`), nil
		}).sender(t).api()
		if err := newWatcherOf(t, client).checkServer(t.Context()); want == "" && err != nil {
			t.Errorf("%s: got %v, want nothing", info, err)
		} else if want != "" {
			wantError(t, err, want)
		}
	}
}

// The features are those whose first versions Kubernetes states in kube_features.go of 1.37.2:
// JobManagedBy is locked from 1.35 on, ContainerRestartRules is on from 1.35 on, and
// RestartAllContainersOnContainerExits and MutablePodResourcesForSuspendedJobs from 1.36 on.
func TestLacking(t *testing.T) {
	newest := []string{"restarts of all containers", "changes of the resources"}
	all := []string{"spec.managedBy", "restart rules", newest[0], newest[1]}
	for got, want := range map[string][]string{"1.32": all, "1.34.9": all, "1.35": newest, "1.36.5": nil, "1.37": nil} {
		if lacks := lacking(version.MustParseGeneric(got)); !slices.EqualFunc(lacks, want, strings.HasPrefix) {
			t.Errorf("%s lacks %q, want those that begin with %q", got, lacks, want)
		}
	}
}

// A started pod keeps the fields that its count, its policy match and its explanation depend on.
func TestDropUnused_started(t *testing.T) {
	always := new(corev1.ContainerRestartPolicyAlways)
	spec := corev1.PodSpec{
		NodeName: "node", RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: new(int64(5)),
		InitContainers: []corev1.Container{{Name: "sidecar", RestartPolicy: always, Image: "image"}},
		Containers:     []corev1.Container{{Name: "main"}}, Volumes: []corev1.Volume{{Name: "data"}},
	}
	pending := newPod(newJob(), "pod", "5", func(pod *corev1.Pod) { pod.Spec = spec })
	pending.Status.Phase = corev1.PodPending
	started := pending.DeepCopy()
	started.Status.Phase = corev1.PodRunning
	me := newFixture(t).me
	Same(t, "pending", dropUnused(me, pending.DeepCopy(), nil).Spec, spec)
	want := *spec.DeepCopy()
	want.Containers, want.Volumes, want.InitContainers[0].Image = nil, nil, ""
	Same(t, "running", dropUnused(me, started, nil).Spec, want)
}

// dropUnused keeps only metadata of a pod that another kind controls.
func TestDropUnused(t *testing.T) {
	drop := newPodCache(newFixture(t).me, func(pod *corev1.Pod) { pod.Spec.Volumes = nil }).Transformer()
	kept := func(pod *corev1.Pod) *corev1.Pod {
		t.Helper()
		return Must(drop(pod)).(*corev1.Pod)
	}
	pod := newPod(newJob(), "pod", "5", func(pod *corev1.Pod) {
		pod.ManagedFields, pod.Spec.Volumes = []metav1.ManagedFieldsEntry{{}}, []corev1.Volume{{}}
		pod.Status.Phase = corev1.PodFailed
	})
	if got := kept(pod); got != pod || len(got.ManagedFields)+len(got.Spec.Volumes) > 0 || got.Status.Phase != corev1.PodFailed {
		t.Errorf("a pod of a Job: got %+v, want it without managed fields and volumes", got)
	}
	alone := newPod(newJob(), "alone", "5", Ownerless, Succeeded)
	alone.Labels = map[string]string{"app": "web"}
	want := alone.DeepCopy()
	Same(t, "a pod without a controller", kept(alone), want)
	foreign := newPod(newJob(), "web", "5", func(pod *corev1.Pod) {
		pod.OwnerReferences[0].Kind, pod.Spec.Containers = "ReplicaSet", []corev1.Container{{}}
	})
	want = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web-uid",
		ResourceVersion: "5", OwnerReferences: foreign.OwnerReferences}}
	Same(t, "a pod of a ReplicaSet", kept(foreign), want)
	Same(t, "what is not a pod", Must(drop("other")), "other")
}

// A pod whose owner reference has the UID of a Job but names another kind does not belong to the
// Job, neither in the cache nor in a live list.
func TestOwnerReferenceOfAnotherKind(t *testing.T) {
	job := newJob(started)
	lies := newPod(job, "lies", "5", func(pod *corev1.Pod) { pod.OwnerReferences[0].APIVersion = "batch.example.com/v1" })
	b := newSynced(t, job, lies)
	Same(t, "pods of the Job", len(b.store.pods.read(job, position{}).all), 0)
	listed := Must(b.send(t.Context(), machine.Request{Verb: machine.ListPods, Namespace: "default"}))
	Same(t, "pods in the list", len(listed.(*corev1.PodList).Items), 0)
}

// priorityRecorder is a queue that records the priority of each item.
type priorityRecorder[T comparable] struct {
	priorityqueue.PriorityQueue[T]
	added chan string
}

func (q *priorityRecorder[T]) AddWithOpts(o priorityqueue.AddOpts, items ...T) {
	q.added <- fmt.Sprint(items, " after ", o.After, " priority ", *o.Priority)
}

// A new Job has the highest priority, and a Job that existed before this process the lowest.
func TestHandleJobs_priorities(t *testing.T) {
	old, created := newJob(), newJob()
	created.Name = "created"
	jobs := fcache.NewFakeControllerSource()
	jobs.Add(old)
	informer := cache.NewSharedIndexInformer(jobs, &batchv1.Job{}, 0, nil)
	q := &priorityRecorder[string]{added: make(chan string, 2)}
	s := source[string]{job: func(q workqueue.TypedRateLimitingInterface[string], _, after *batchv1.Job) {
		q.AddAfter(after.Name, time.Second)
	}}
	NoError(t, s.handleJobs(informer, q))
	go informer.RunWithContext(t.Context())
	added := []string{<-q.added}
	jobs.Add(created)
	added = append(added, <-q.added)
	Same(t, "added", added, []string{"[job] after 1s priority -100", "[created] after 1s priority 1"})
}
