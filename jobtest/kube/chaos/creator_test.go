package chaos_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/jobtest/internal/story"
	"github.com/jobfate/jobfate/jobtest/kube/chaos"
)

// twoJobs runs a controller that creates two Jobs for a ConfigMap, and records in the
// ConfigMap when they are done.
var twoJobs = chaos.Creator{
	Schedules: 300,
	Scheme:    scheme.Scheme,
	Objects: func(uint64) []client.Object {
		return []client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "train"}}}
	},
	Purpose: func(job *batchv1.Job) string { return job.Name },
	Outcome: func(uint64, *batchv1.Job) string { return "" },
	Judge: func(now client.Reader) (string, error) {
		var jobs batchv1.JobList
		train := &corev1.ConfigMap{}
		err := now.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: "train"}, train)
		if err != nil || train.Data["done"] == "" {
			return "", client.IgnoreNotFound(err)
		}
		return "done with Jobs: " + train.Data["done"], now.List(context.Background(), &jobs)
	},
}

// trainer is the controller. Its fields inject bugs.
type trainer struct {
	client.Client
	want    int // the number of Jobs
	created func(error) error
	listed  func(jobs int)
	ended   func(context.Context, *corev1.ConfigMap)
}

func newTrainer(env *chaos.Env) *trainer {
	return &trainer{Client: env.Client, want: 2, created: func(err error) error { return err },
		listed: func(int) {}, ended: func(context.Context, *corev1.ConfigMap) {}}
}

// Reconcile implements [reconcile.Reconciler].
func (r *trainer) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	train := &corev1.ConfigMap{}
	if err := r.Get(ctx, request.NamespacedName, train); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if train.Data["done"] != "" {
		r.ended(ctx, train)
		return reconcile.Result{}, nil
	}
	var jobs batchv1.JobList
	if err := r.List(ctx, &jobs, client.InNamespace(request.Namespace)); err != nil {
		return reconcile.Result{}, err
	}
	complete := ""
	for i := range jobs.Items {
		if job := &jobs.Items[i]; metav1.IsControlledBy(job, train) && jobstatus.OutcomeOf(job).Phase == jobstatus.Complete {
			complete += " " + job.Name
		}
	}
	r.listed(len(jobs.Items))
	for i := range 2 {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: train.Namespace, Name: fmt.Sprintf("%s-%d", train.Name, i),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(train, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}}}
		job.Spec.Template.Spec = MinimalPodSpec()
		err := r.created(r.Create(ctx, job))
		if apierrors.IsAlreadyExists(err) {
			continue // wait for the event
		}
		return reconcile.Result{}, err
	}
	if strings.Count(complete, " ") < r.want {
		return reconcile.Result{}, nil
	}
	train.Data = map[string]string{"done": complete}
	err := r.Update(ctx, train)
	return reconcile.Result{}, err
}

// A correct controller violates no property.
func TestCreator(t *testing.T) {
	twoJobs.Test(t, func(env *chaos.Env) reconcile.Reconciler { return newTrainer(env) })
}

// The schedules find each bug of a controller that creates Jobs. examples/jobgroup has
// further bugs.
func TestCreator_planted(t *testing.T) {
	exists := apierrors.NewAlreadyExists(batchv1.Resource("jobs"), "")
	for _, bug := range []struct {
		name, property string
		steps          int // the maximum in the report
		plant          func(*chaos.Env, *trainer)
	}{
		{"it is done without the Job that a quota rejected", "C3", 3, func(_ *chaos.Env, r *trainer) {
			r.created = func(err error) error {
				if apierrors.IsForbidden(err) {
					r.want--
					return exists
				}
				return err
			}
		}},
		{"it writes the time when everything has ended", "C4", 1, func(_ *chaos.Env, r *trainer) {
			r.ended = func(ctx context.Context, train *corev1.ConfigMap) {
				train.Data["time"] = time.Now().String()
				_ = r.Update(ctx, train) // another sync tries again
			}
		}},
		{"it treats a lost answer as a success, and gets no further event", "C4", 1, func(_ *chaos.Env, r *trainer) {
			r.created = func(err error) error {
				if err != nil {
					return exists
				}
				return nil
			}
		}},
		{"it panics if the cache has lost a Job", "S16", 3, func(_ *chaos.Env, r *trainer) {
			seen := 0
			r.listed = func(jobs int) {
				if seen = max(seen, jobs); jobs < seen {
					panic("a Job is gone")
				}
			}
		}},
		{"it requests an informer", "chaos", 1, func(env *chaos.Env, _ *trainer) { env.Informer(&batchv1.Job{}) }},
		{"it reports a violation itself", "own", 2, func(env *chaos.Env, r *trainer) {
			r.created = func(err error) error {
				if apierrors.IsTimeout(err) {
					env.Fail("a creation took too long")
				}
				return err
			}
		}},
	} {
		t.Run(bug.name, func(t *testing.T) {
			r := twoJobs.Search(t, func(env *chaos.Env) reconcile.Reconciler {
				r := newTrainer(env)
				bug.plant(env, r)
				return r
			})
			checkReport(t, r, bug.property)
			if steps := story.StepsOf(r.Story); steps > bug.steps {
				t.Errorf("%d steps are left, want at most %d", steps, bug.steps)
			}
		})
	}
}
