package decide

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/jobfate/jobfate/backoff"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/validation"
	"github.com/jobfate/jobfate/validation/defaulting"
)

// scene is a Job, its pods and a time, in seconds since the Job was created. Of the tests that use
// it, only the functions of this file call the package.
type scene struct {
	Snapshot
	config  config
	created time.Time
}

// newScene returns the scene of a new Job with a spec, one second after its creation.
func newScene(t *testing.T, spec string) *scene {
	t.Helper()
	job := specJob(t, spec)
	s := &scene{config: *configure(nil), created: job.CreationTimestamp.Time}
	s.Job, s.Backoff = job, backoff.Record{Job: job.UID}
	s.Now = s.at(1)
	return s
}

// specJob returns a Job with a spec in YAML, as the API server stores it.
func specJob(t *testing.T, spec string) *batchv1.Job {
	t.Helper()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "job", UID: "job-1", ResourceVersion: "1",
		CreationTimestamp: After(0),
	}}
	if err := yaml.Unmarshal([]byte(spec), &job.Spec); err != nil {
		t.Fatalf("%v in\n%s", err, spec)
	}
	job.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main"}}}
	job = defaulting.Prepared(job)
	if errs := validation.Create(job); len(errs) > 0 {
		t.Fatalf("the API server rejects the Job: %v", errs.ToAggregate())
	}
	return job
}

func (s *scene) at(seconds int) time.Time { return s.created.Add(time.Duration(seconds) * time.Second) }

// stored returns a time as the API server stores it.
func (s *scene) stored(seconds int) *metav1.Time {
	return new(metav1.NewTime(s.at(seconds)))
}

// pod adds a pod to the scene. number is its index plus one in an Indexed Job. seconds is when a
// finished pod finished.
func (s *scene) pod(name string, number int, phase corev1.PodPhase, seconds int, changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := PodOf(s.Job, name, "1", Phase(phase))
	pod.Name, pod.CreationTimestamp = name, s.Job.CreationTimestamp
	if mode := s.Job.Spec.CompletionMode; *mode == batchv1.IndexedCompletion {
		Index(fmt.Sprint(number - 1))(pod)
		Failures("0")(pod)
	}
	switch phase {
	case corev1.PodFailed:
		Exit(1, *s.stored(seconds))(pod)
	case corev1.PodSucceeded:
		Exit(0, *s.stored(seconds))(pod)
	case corev1.PodRunning:
		Ready(pod)
	}
	for _, change := range changes {
		change(pod)
	}
	s.Pods = append(s.Pods, pod)
	return pod
}

// deletedAt is a change of a pod: its deletion began at a time.
func (s *scene) deletedAt(seconds int) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.DeletionTimestamp = s.stored(seconds) }
}

// condition adds a condition with the status True to the status of the Job.
func (s *scene) condition(kind batchv1.JobConditionType) {
	s.Job.Status.Conditions = append(s.Job.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue})
}

// outcome decides on the scene.
func (s *scene) outcome(t *testing.T) Decision {
	t.Helper()
	var all Pods
	all.Replace(s.Pods)
	return Must(all.decide(s.Snapshot, &s.config))
}

// expect decides on the scene, and checks what the decision does.
func (s *scene) expect(t *testing.T, reason, want string) Decision {
	t.Helper()
	o := s.outcome(t)
	Same(t, reason, does(o), want)
	return o
}

// does says in words what a decision does: the indexes or the number of the pods that it creates,
// the pods that it deletes, the pods that lose their finalizer, the failed pods that are or will be
// counted, the condition of the end, and when the next sync is due.
func does(o Decision) string {
	var parts []string
	add := func(what string, names []string) {
		if slices.Sort(names); len(names) > 0 {
			parts = append(parts, what+" "+strings.Join(names, ","))
		}
	}
	created := Each(o.Create, func(c Creation) string { return fmt.Sprint(c.Index) })
	if indexed := len(created) > 0 && created[0] != "-1"; indexed {
		add("create index", created)
	} else if n := len(created); n > 0 {
		parts = append(parts, fmt.Sprintf("create %d", n))
	}
	add("delete", Each(o.Delete, func(d Deletion) string { return d.Pod.Name }))
	add("strip", Each(o.Strip, func(pod *corev1.Pod) string { return pod.Name }))
	failed := int(o.made.status.Failed)
	if u := o.made.status.UncountedTerminatedPods; u != nil {
		failed += len(u.Failed)
	}
	if failed > 0 {
		parts = append(parts, fmt.Sprintf("failed %d", failed))
	}
	for _, c := range o.made.status.Conditions {
		if c.Status == corev1.ConditionTrue && c.Type != batchv1.JobSuspended {
			parts = append(parts, string(c.Type)+" "+c.Reason)
		}
	}
	if o.Requeue > 0 {
		parts = append(parts, "sync in "+o.Requeue.String())
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, "; ")
}
