package controller

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	. "github.com/jobfate/jobfate/internal/podtest"
)

func builtIn(job *batchv1.Job) { job.Spec.ManagedBy = nil }

// A change of a pod queues Jobs and orphans.
func TestPodChanged(t *testing.T) {
	job := newJob()
	pod := newPod(job, "pod", "5")
	batched := "default/job after 1s"
	leftBehind := "orphans of default/job job-uid after 1s"
	alone := "orphans of default/ after 1s"
	other := func(pod *corev1.Pod) {
		pod.OwnerReferences[0].Kind, pod.OwnerReferences[0].UID = "ReplicaSet", "replica-set"
	}
	elsewhere := func(pod *corev1.Pod) { pod.Labels = map[string]string{"app": "other"} }
	for name, tc := range map[string]struct {
		job           *batchv1.Job // in the cache
		before, after *corev1.Pod
		want          []string
	}{
		"a new pod":                                {job, nil, pod, []string{batched}},
		"a pod that has changed":                   {job, pod, newPod(job, "pod", "6"), []string{batched}},
		"a pod that is gone":                       {job, pod, nil, []string{batched}},
		"of another controller's Job":              {newJob(builtIn), nil, pod, nil},
		"of a Job that is gone":                    {nil, nil, pod, []string{leftBehind}},
		"of a Job that was recreated":              {newJob(func(job *batchv1.Job) { job.UID = "next" }), nil, pod, []string{batched, leftBehind}},
		"of a Job that is gone, without finalizer": {nil, nil, newPod(job, "pod", "5", Released), nil},
		"of another kind":                          {job, nil, newPod(job, "pod", "5", other), nil},
		"one that may be adopted":                  {job, nil, newPod(job, "pod", "5", Ownerless), []string{batched}},
		"one that another controller may adopt":    {newJob(builtIn), nil, newPod(job, "pod", "5", Ownerless), []string{alone}},
		"one that may not be adopted":              {job, nil, newPod(job, "pod", "5", Ownerless, elsewhere), []string{alone}},
		"orphaned":                                 {job, pod, newPod(job, "pod", "6", Ownerless), []string{batched}},
		"without an owner, as before":              {job, newPod(job, "pod", "5", Ownerless, Released), newPod(job, "pod", "6", Ownerless, Released), nil},
		"without an owner, with new labels":        {job, newPod(job, "pod", "5", Ownerless, Released, elsewhere), newPod(job, "pod", "6", Ownerless, Released), []string{batched}},
	} {
		t.Run(name, func(t *testing.T) {
			b, q, free := newFixture(t), &recordingQueue[reconcile.Request]{}, &recordingQueue[orphanKey]{}
			if tc.job != nil {
				b.show(t, tc.job)
			}
			b.podChanged(q, tc.before, tc.after)
			orphans{b.controller}.podChanged(free, tc.before, tc.after)
			Same(t, "woken", append(q.all, free.all...), tc.want)
		})
	}
}

func TestJobChanged(t *testing.T) {
	job := newJob()
	left := []string{"orphans of default/job job-uid after 1s", "orphans of default/ after 1s"}
	for name, tc := range map[string]struct {
		before, after *batchv1.Job
		wakes         string
		frees         []string
	}{
		"new":                              {nil, job, "default/job", nil},
		"another's":                        {nil, newJob(builtIn), "", nil},
		"only the status":                  {job, newJob(started), "default/job after 1s", nil},
		"ended, in a plain queue":          {job, newJob(started, Has(batchv1.JobComplete)), "default/job after 1s", nil},
		"the spec":                         {job, newJob(func(job *batchv1.Job) { job.Generation++ }), "default/job", nil},
		"made again":                       {job, newJob(func(job *batchv1.Job) { job.UID = "next" }), "default/job", left},
		"recreated for another controller": {job, newJob(builtIn, func(job *batchv1.Job) { job.UID = "next" }), "default/job", left},
		"gone":                             {job, nil, "default/job", left},
		"gone, another's":                  {newJob(builtIn), nil, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			b, q, free := newFixture(t), &recordingQueue[reconcile.Request]{}, &recordingQueue[orphanKey]{}
			b.jobChanged(q, tc.before, tc.after)
			orphans{b.controller}.jobChanged(free, tc.before, tc.after)
			Same(t, "queued", strings.Join(q.all, ","), tc.wakes)
			Same(t, "orphans to free", free.all, tc.frees)
		})
	}
}

// A Job that has ended does not wait behind those that run.
func TestJobChanged_ended(t *testing.T) {
	q := &priorityRecorder[reconcile.Request]{added: make(chan string, 2)}
	b := newFixture(t)
	b.jobChanged(q, newJob(started), newJob(started, Has(batchv1.JobComplete)))
	Same(t, "added", []string{<-q.added}, []string{"[default/job] after 1s priority 1"})
}
