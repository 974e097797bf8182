package chaos

import (
	"math/rand/v2"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// slot is one of the Jobs of a run. It stays the same when the Job is deleted and created
// again.
type slot struct {
	name       types.NamespacedName
	job        *batchv1.Job // as the run creates it
	ghost      *referee.Ghost
	pending    bool               // the last sync has acted on a verdict, or tried to store it
	unanswered map[types.UID]bool // the pods whose deletion had no answer
}

// addSlot adds the slot of a new Job.
func (r *run) addSlot(name types.NamespacedName, job *batchv1.Job) {
	s := &slot{name: name, job: job, ghost: &referee.Ghost{}, unanswered: map[types.UID]bool{}}
	r.c.Focus(name)
	s.ghost.Started(r.c.Job())
	r.slots, r.ledgers[name] = append(r.slots, s), s.ghost
}

// focusOn puts a Job into focus for actions and syncs.
func (r *run) focusOn(to *slot) {
	if r.at == to || to == nil {
		return
	}
	r.at = to
	r.c.Focus(to.name)
	r.updateKinds()
}

// isInFocus reports whether the owner of a pod has the name of the Job in focus.
func (r *run) isInFocus(owner *metav1.OwnerReference, pod *corev1.Pod) bool {
	return owner.Name == r.at.name.Name && pod.Namespace == r.at.name.Namespace
}

// each calls a function with each Job in focus, until there is a violation.
func (r *run) each(do func()) {
	for _, s := range r.slots {
		if !r.Broken() {
			r.focusOn(s)
			do()
		}
	}
}

func (r *run) slotOf(name types.NamespacedName) *slot {
	for _, s := range r.slots {
		if s.name == name {
			return s
		}
	}
	return r.at
}

// soonest returns the slot with the earliest requeue of a controller, and its time; zero if
// there is none.
func (r *run) soonest(l *leader) (*slot, time.Time) {
	first, at := r.at, l.next[r.at]
	for _, s := range r.slots {
		if next := l.next[s]; !next.IsZero() && (at.IsZero() || next.Before(at)) {
			first, at = s, next
		}
	}
	return first, at
}

// allEnded reports whether each Job has ended, or is gone.
func (r *run) allEnded() bool {
	for _, job := range r.c.Jobs() {
		if !referee.Ended(job) {
			return false
		}
	}
	return true
}

// Jobs returns two small Jobs for one cluster: in one namespace, with selectors of their
// own or with selectors that match the pods of both, or in two namespaces with the same
// name.
func Jobs(seed uint64) []*batchv1.Job {
	jobs := []*batchv1.Job{Job(seed), Job(seed ^ 1<<63)}
	switch seed / 2 % 3 {
	case 0:
		jobs[1].Name = "job-b"
	case 1:
		jobs[1].Name = "job-b"
		for _, job := range jobs {
			job.Spec.ManualSelector = new(true)
			job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "both"}}
			job.Spec.Template.Labels = map[string]string{"app": "both"}
		}
	case 2:
		jobs[1].Namespace = "other"
	}
	return jobs
}

// Job returns a small Job, with at most 4 completions, that uses some features of Jobs. The API
// server accepts it.
func Job(seed uint64) *batchv1.Job {
	job := &batchv1.Job{}
	job.Name = "job"
	job.Spec = jobtest.SmallSpec(dice(seed, 1), corev1.PodTemplateSpec{
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "image"}}}}, 4)
	return job
}

func dice(seed, part uint64) jobtest.Seeded {
	return jobtest.Seeded{Rand: rand.New(rand.NewPCG(seed, part))}
}
