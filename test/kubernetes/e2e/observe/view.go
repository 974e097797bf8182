package observe

import (
	"context"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/jobfate/jobfate/test/stories/script"
)

// view follows one Job and the pods of its namespace, as the clock of a world.
type view struct {
	*Feed
	ctx   context.Context
	job   string
	state script.State
	lines map[any]string // the last line about the Job, and about each pod
}

// Watch returns a world in real time without a client. It follows the Job of a name, its events, and the pods of its
// namespace, until the context is done.
func Watch(ctx context.Context, t testing.TB, client kubernetes.Interface, namespace, job string) (
	*script.World, *Feed) {
	v := &view{ctx: ctx, job: job, lines: map[any]string{},
		state: script.State{All: map[string]*corev1.Pod{}, Events: map[string]*corev1.Event{}}}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithNamespace(namespace), informers.WithTransform(cache.TransformStripManagedFields()))
	v.Feed = NewFeed(v.apply, factory.Batch().V1().Jobs().Informer(), factory.Core().V1().Pods().Informer(),
		factory.Core().V1().Events().Informer())
	w := &script.World{T: t, Clock: v}
	v.after = w.Check
	factory.Start(ctx.Done())
	return w, v.Feed
}

// Current implements script.Clock.
func (v *view) Current() script.State { return v.state }

// Next implements script.Clock.
func (v *view) Next() bool { return v.next(v.ctx) }

func (v *view) apply(object any, gone bool) (line string) {
	switch o := object.(type) {
	case *batchv1.Job:
		if o.Name != v.job {
			return ""
		}
		v.state.Job = o
		line = v.changed("", "job: "+Status(o))
		if gone {
			v.state.Job = nil
			line = v.changed("", "job is gone")
		}
	case *corev1.Event:
		if o.InvolvedObject.Kind != "Job" || o.InvolvedObject.Name != v.job {
			return ""
		}
		Keep(v.state.Events, o.Name, o, gone)
		line = fmt.Sprintf("event %s, %d times: %s", o.Reason, o.Count, o.Message)
	case *corev1.Pod:
		Keep(v.state.All, o.Name, o, gone)
		line = v.changed(o.UID, fmt.Sprintf("pod %s: %s", o.Name, describe(o)))
		if gone {
			line = fmt.Sprintf("pod %s is gone", o.Name)
		}
	}
	return line
}

// changed returns a line about an object if it differs from the last one.
func (v *view) changed(of any, line string) string {
	if v.lines[of] == line {
		return ""
	}
	v.lines[of] = line
	return line
}

// Keep keeps the last version of an object, by name.
func Keep[T any](in map[string]T, name string, object T, gone bool) {
	if in[name] = object; gone {
		delete(in, name)
	}
}

// Status describes the status of a Job in one line.
func Status(job *batchv1.Job) string {
	words := script.Status(job)
	if u := job.Status.UncountedTerminatedPods; u != nil && len(u.Succeeded)+len(u.Failed) > 0 {
		words = append(words, fmt.Sprintf("uncounted %d succeeded, %d failed", len(u.Succeeded), len(u.Failed)))
	}
	if s := job.Spec.Suspend; s != nil && *s {
		words = append(words, "suspended by its spec")
	}
	if job.DeletionTimestamp != nil {
		words = append(words, "being deleted")
	}
	return strings.Join(words, ", ")
}

// describe describes a pod in one line.
func describe(p *corev1.Pod) string {
	line := string(p.Status.Phase)
	if index := script.Index(p); index >= 0 {
		line = fmt.Sprintf("index %d, %s", index, line)
	}
	if failures, has := p.Annotations[batchv1.JobIndexFailureCountAnnotation]; has {
		line += ", failure count " + failures
	}
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Terminated != nil {
			line += fmt.Sprintf(", %s exited with %d", c.Name, c.State.Terminated.ExitCode)
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == corev1.PodReady || c.Type == corev1.DisruptionTarget) {
			line += ", " + string(c.Type)
		}
	}
	if p.DeletionTimestamp != nil {
		line += ", being deleted"
	}
	if len(p.Finalizers) == 0 {
		line += ", no finalizer"
	}
	if metav1.GetControllerOf(p) == nil {
		line += ", no controller"
	}
	return line
}
