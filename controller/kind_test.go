package controller

import (
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube"
	"github.com/jobfate/jobfate/tracking"
)

// Sweep is a custom resource that stores the status of its Job beside its own status.
type Sweep struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec struct {
		Trials   int32                  `json:"trials"`
		Template corev1.PodTemplateSpec `json:"template"`
	} `json:"spec"`
	Status struct {
		Note string            `json:"note,omitempty"`
		Job  batchv1.JobStatus `json:"job,omitempty"`
	} `json:"status,omitempty"`
}

type SweepList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Sweep `json:"items"`
}

func (s *Sweep) DeepCopyObject() runtime.Object     { return Copied(s) }
func (l *SweepList) DeepCopyObject() runtime.Object { return Copied(l) }

var sweepKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Sweep"}

var sweeps = Kind[*Sweep]{
	Spec: func(s *Sweep) batchv1.JobSpec {
		return batchv1.JobSpec{CompletionMode: new(batchv1.IndexedCompletion), Completions: &s.Spec.Trials, Parallelism: &s.Spec.Trials, Template: s.Spec.Template}
	},
	Status: func(s *Sweep) *batchv1.JobStatus { return &s.Status.Job },
	Keys:   tracking.Keys{Finalizer: "example.com/counted"},
}

func sweepScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	NoError(t, clientgoscheme.AddToScheme(scheme))
	scheme.AddKnownTypeWithName(sweepKind, &Sweep{})
	scheme.AddKnownTypeWithName(sweepKind.GroupVersion().WithKind("SweepList"), &SweepList{})
	metav1.AddToGroupVersion(scheme, sweepKind.GroupVersion())
	return scheme
}

// newSweepCluster returns a cluster that serves Sweeps, and a client of its users.
func newSweepCluster(t *testing.T) (*cluster, client.Client) {
	t.Helper()
	c := newCluster(t, kube.Kind{GroupVersionKind: sweepKind, Status: true})
	return c, Must(client.New(c.Config(), client.Options{Scheme: sweepScheme(t)}))
}

func createSweep(t *testing.T, users client.Client, name string, trials int32) *Sweep {
	t.Helper()
	sweep := &Sweep{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	sweep.Spec.Trials, sweep.Spec.Template.Spec = trials, MinimalPodSpec()
	NoError(t, users.Create(t.Context(), sweep))
	return sweep
}

// Custom resources run and end like Jobs, across a restart of the controller, and in one
// process with Jobs.
func TestAddKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, users := newSweepCluster(t)
		start := func() func() {
			mgr := c.manager(t, users.Scheme())
			NoError(t, AddKind(mgr, sweeps, Options{}))
			NoError(t, Add(mgr, Options{}))
			return run(t, mgr)
		}
		stop := start()
		sweep := createSweep(t, users, "sweep", 3)
		// The controller may have written the status already.
		note := client.RawPatch(types.MergePatchType, []byte(`{"status":{"note":"kept"}}`))
		NoError(t, users.Status().Patch(t.Context(), sweep, note))
		c.create(t, "job")
		time.Sleep(3 * time.Second)
		pods := kube.List[*corev1.Pod](c.Server, "default")
		Same(t, "pods, 3 of the Sweep and 1 of the Job", len(pods), 4)
		for _, pod := range pods {
			owner, finalizer := metav1.GetControllerOf(pod), batchv1.JobTrackingFinalizer
			if owner.Kind == "Sweep" {
				finalizer = "example.com/counted"
			}
			if len(pod.Finalizers) != 1 || pod.Finalizers[0] != finalizer {
				t.Errorf("the pod %s of a %s has the finalizers %q, want %s", pod.Name, owner.Kind, pod.Finalizers, finalizer)
			}
		}
		stop()
		stop = start()
		c.work()
		stop()
		NoError(t, users.Get(t.Context(), client.ObjectKeyFromObject(sweep), sweep))
		got := fmt.Sprintf("%d succeeded, indexes %s, ended %t, uncounted %v, note %s", sweep.Status.Job.Succeeded, sweep.Status.Job.CompletedIndexes,
			sweep.Status.Job.CompletionTime != nil, sweep.Status.Job.UncountedTerminatedPods, sweep.Status.Note)
		Same(t, "the status", got, "3 succeeded, indexes 0-2, ended true, uncounted &UncountedTerminatedPods{Succeeded:[],Failed:[],}, note kept")
		job, _ := kube.Get[*batchv1.Job](c.Server, "default", "job")
		Same(t, "the Job beside it is complete", job.Status.CompletionTime != nil, true)
		events := 0
		for _, event := range kube.List[*corev1.Event](c.Server, "default") {
			about := event.InvolvedObject
			if about.Name != "sweep" {
				continue
			}
			events++
			if about.Kind != "Sweep" || about.APIVersion != "example.com/v1" || about.UID != sweep.UID {
				t.Errorf("an event is about %+v, want the Sweep", about)
			}
		}
		Same(t, "there is an event about the Sweep", events > 0, true)
		c.noErrors(t)
	})
}

// AddKind rejects invalid kinds with an error that says why.
func TestAddKind_invalid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		unknown := c.manager(t, clientgoscheme.Scheme)
		known := c.manager(t, sweepScheme(t))
		plain := sweeps
		plain.Keys = tracking.Keys{}
		for want, err := range map[string]error{
			"keys.finalizer: Required value": AddKind(known, plain, Options{}),
			"workers: Invalid value":         AddKind(known, sweeps, Options{Workers: -1}),
			"no kind is registered":          AddKind(unknown, sweeps, Options{}),
			"is not a pointer":               AddKind(known, Kind[client.Object]{Keys: sweeps.Keys}, Options{}),
		} {
			wantError(t, err, want)
		}
	})
}

// A status write names every field, so that each one that has become empty is unset.
func TestAnotherStatus_hasEveryField(t *testing.T) {
	status := reflect.ValueOf(anotherStatus)
	for i := range status.NumField() {
		Same(t, "it sets "+status.Type().Field(i).Name, !status.Field(i).IsZero(), true)
	}
}
