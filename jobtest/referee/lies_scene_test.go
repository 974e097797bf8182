package referee_test

import (
	"errors"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// scene is a Job, its pods, and a referee, without a controller. What happens is written by hand.
type scene struct {
	ghost referee.Ghost
	job   *batchv1.Job
	pods  []*corev1.Pod
	cache *cluster.View // what the controller observes; nil if that is everything
	now   time.Time
	// unanswered says that creations have no answer.
	unanswered bool
	said, text string // the first violated property
}

type (
	specs    = []func(*batchv1.JobSpec)
	statuses = func(*batchv1.JobStatus)
	edits    = Edit
)

// newScene returns a scene with a Job of three completions and a parallelism of three.
func newScene(changes specs) *scene {
	job := NewJob()
	job.Spec.Completions, job.Spec.Parallelism = new(int32(3)), new(int32(3))
	apply(&job.Spec, changes)
	k := &scene{job: job, now: Noon()}
	k.ghost.Started(job)
	return k
}

// see passes a step to the referee.
func (k *scene) see(s cluster.Step) {
	s.Now, s.Job, s.Pods = k.now, k.job, func() []*corev1.Pod { return k.pods }
	if s.OldJob == nil {
		s.OldJob = k.job
	}
	if s.Request != nil {
		s.View = &cluster.View{Job: s.OldJob, Pods: slices.Clone(k.pods)}
		if k.cache != nil {
			*s.View = *k.cache
		} else if s.Request.Verb == cluster.Create {
			s.View.Pods = slices.DeleteFunc(s.View.Pods, func(p *corev1.Pod) bool { return p == s.Pod })
		}
		s.View.Now = k.now
	}
	if s.OldPod != nil && s.Request != nil && k.cache == nil { // the controller observed the old version
		s.View.Pods[slices.IndexFunc(s.View.Pods, func(p *corev1.Pod) bool { return p.UID == s.OldPod.UID })] = s.OldPod
	}
	if v := (referee.Rules{}).See(&k.ghost, &s); v != nil && k.said == "" {
		k.said, k.text = v.Property, v.Text
	}
}

// lag stops the caches of the controller.
func (k *scene) lag() { k.cache = &cluster.View{Job: k.job, Pods: slices.Clone(k.pods)} }

func (k *scene) wait(seconds int) { k.now = k.now.Add(time.Duration(seconds) * time.Second) }

// pod adds a pod that the controller has created earlier.
func (k *scene) pod(name string, changes ...edits) { k.pods = append(k.pods, Pod(name, changes...)) }

// put stores the next version of a pod.
func (k *scene) put(name string, changes []edits) (old, next *corev1.Pod) {
	i := slices.IndexFunc(k.pods, func(p *corev1.Pod) bool { return string(p.UID) == name })
	old = k.pods[i]
	next = old.DeepCopy()
	for _, change := range changes {
		change(next)
	}
	k.pods = slices.Clone(k.pods)
	k.pods[i] = next
	return old, next
}

// becomes is a change of a pod by another client.
func (k *scene) becomes(name string, changes ...edits) {
	old, next := k.put(name, changes)
	k.see(cluster.Step{OldPod: old, Pod: next})
}

func (k *scene) creates(name string, changes ...edits) {
	pod := Pod(name, append([]edits{Phase(corev1.PodPending)}, changes...)...)
	k.pods = append(slices.Clone(k.pods), pod)
	k.see(cluster.Step{Pod: pod, Request: &cluster.Request{Verb: cluster.Create}, Lost: k.unanswered})
}

func (k *scene) patches(name, patch string, changes ...edits) {
	old, next := k.put(name, changes)
	k.see(cluster.Step{OldPod: old, Pod: next, Request: &cluster.Request{Verb: cluster.Patch, Patch: []byte(patch)}})
}

func (k *scene) strips(name string) { k.patches(name, `{"metadata":{"uid":"`+name+`"}}`, counted) }

// stripsFirst removes the finalizer of a pod at the version that the controller observed.
func (k *scene) stripsFirst(name string) {
	k.patches(name, `{"metadata":{"uid":"`+name+`","resourceVersion":"1"}}`, counted)
}

func (k *scene) adopts(name string) {
	k.patches(name, `{"metadata":{"uid":"`+name+`"}}`, func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(k.job, ofJob)}
	})
}

func (k *scene) deletes(name string) {
	k.deletesWith(name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(name)})
}

func (k *scene) deletesWith(name string, o metav1.DeleteOptions) {
	old, next := k.put(name, []edits{leaving})
	k.see(cluster.Step{OldPod: old, Pod: next, Request: &cluster.Request{Verb: cluster.Delete, Options: o}})
}

// stores is a status write of the controller. Its numbers of active and terminating pods are right.
func (k *scene) stores(changes ...statuses) {
	next := k.job.DeepCopy()
	st := &next.Status
	st.Active, st.Terminating, st.Ready = 0, new(int32), new(int32)
	for _, pod := range k.pods {
		switch {
		case !metav1.IsControlledBy(pod, k.job) || cluster.HasEnded(pod):
		case pod.DeletionTimestamp != nil:
			*st.Terminating++
		default:
			st.Active++
		}
	}
	apply(st, changes)
	old := k.job
	k.job = next
	k.see(cluster.Step{OldJob: old, Request: &cluster.Request{Verb: cluster.Status}})
}

// invalid is a status that the API server rejects.
func (k *scene) invalid() {
	k.see(cluster.Step{Request: &cluster.Request{Verb: cluster.Status}, Refused: errors.New("invalid")})
}

// status is a status that another client stores.
func (k *scene) status(changes ...statuses) {
	k.edit(func(j *batchv1.Job) { apply(&j.Status, changes) })
}

// spec is an edit of the Job by a user.
func (k *scene) spec(change func(*batchv1.JobSpec)) {
	k.edit(func(j *batchv1.Job) { change(&j.Spec) })
}

func (k *scene) deleteJob() {
	k.edit(func(j *batchv1.Job) { j.DeletionTimestamp = &metav1.Time{Time: k.now} })
}

func (k *scene) edit(change func(*batchv1.Job)) {
	old := k.job
	k.job = old.DeepCopy()
	change(k.job)
	k.see(cluster.Step{OldJob: old})
}

func apply[T any](to *T, changes []func(*T)) {
	for _, change := range changes {
		change(to)
	}
}

// Changes of pods.

var counted, succeeded, failed, leaving, orphaned, unselected edits = Released, Succeeded, Failed, Deleted, Ownerless, Unlabelled

func exits(code int32) edits { return Exit(code, After(0)) }

func disrupted(p *corev1.Pod) {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
}

func restarts(n int32) edits {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", RestartCount: n}}
	}
}

func at(index int) edits { return Index(strconv.Itoa(index)) }

// after is the annotation of a pod with the number of failures of its index before it.
func after(failures int) edits { return Failures(strconv.Itoa(failures)) }

func ownedBy(kind, uid string) edits {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: kind, Name: "other", UID: types.UID(uid), Controller: new(true)}}
	}
}

// Changes of statuses.

func number(field func(*batchv1.JobStatus) *int32) func(int32) statuses {
	return func(n int32) statuses { return func(st *batchv1.JobStatus) { *field(st) = n } }
}

var (
	failures  = number(func(st *batchv1.JobStatus) *int32 { return &st.Failed })
	successes = number(func(st *batchv1.JobStatus) *int32 { return &st.Succeeded })
	active    = number(func(st *batchv1.JobStatus) *int32 { return &st.Active })
)

func ready(n int32) statuses       { return func(st *batchv1.JobStatus) { st.Ready = &n } }
func terminating(n int32) statuses { return func(st *batchv1.JobStatus) { st.Terminating = &n } }
func completed(set string) statuses {
	return func(st *batchv1.JobStatus) { st.CompletedIndexes = set }
}
func failedIndexes(set string) statuses {
	return func(st *batchv1.JobStatus) { st.FailedIndexes = &set }
}

// uncounted sets the lists of uncounted pods: the failed ones, "/", the succeeded ones.
func uncounted(pods ...types.UID) statuses {
	u := &batchv1.UncountedTerminatedPods{Failed: pods}
	if i := slices.Index(pods, "/"); i >= 0 {
		u.Failed, u.Succeeded = pods[:i], pods[i+1:]
	}
	return func(st *batchv1.JobStatus) { st.UncountedTerminatedPods = u }
}

func is(kind batchv1.JobConditionType, reason string) statuses {
	return func(st *batchv1.JobStatus) {
		st.Conditions = append(slices.Clip(st.Conditions), batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason})
	}
}

func undecided(st *batchv1.JobStatus) { st.Conditions = nil }
func started(st *batchv1.JobStatus)   { st.StartTime = new(After(0)) }
func unstarted(st *batchv1.JobStatus) { st.StartTime = nil }
func finished(st *batchv1.JobStatus)  { st.CompletionTime = new(After(0)) }
func early(st *batchv1.JobStatus) {
	st.CompletionTime = new(After(-1))
}
