package jobtest

import (
	"maps"
	"math"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/tracking"
)

// Event is something that may happen to a Job or one of its pods, other than an action of its controller.
type Event struct {
	Name string
	// Life is how often the event is drawn in a [Life]. Step is how often it is drawn in a
	// schedule of package chaos, and Aside how often between two writes of a sync there.
	Life, Step, Aside int

	// can reports whether the event can happen to a pod, or to the Job if pod is nil. It is
	// nil if it always can.
	can func(s *Scene, pod *corev1.Pod) bool
	do  func(s *Scene, pod *corev1.Pod)
	job bool // it happens to the Job
}

// Scene is where events happen: a cluster with a Job in focus.
type Scene struct {
	*cluster.Cluster
	Dice
	// Keys lists the names that the controller uses on pods.
	Keys tracking.Keys
}

// Events returns the events of pods, those by which clients edit pods in ways that break
// controllers, and those of the Job.
func Events() []Event { return slices.Concat(podEvents, tamperings, jobEvents) }

// HappenIn makes the event happen to the Job, or to a pod to which it can happen. It reports whether it had an effect.
func (e *Event) HappenIn(s *Scene) bool {
	if e.job {
		return e.fits(s, nil) && e.happenTo(s, nil)
	}
	pods := slices.DeleteFunc(s.Pods(), func(p *corev1.Pod) bool { return !e.fits(s, p) })
	return len(pods) > 0 && e.happenTo(s, pick(s, "pod", pods...))
}

func (e *Event) fits(s *Scene, pod *corev1.Pod) bool {
	return (!e.job || s.Job() != nil) && (e.can == nil || e.can(s, pod))
}

func (e *Event) happenTo(s *Scene, pod *corev1.Pod) bool {
	before := s.Version()
	e.do(s, pod)
	return s.Version() != before
}

// podEvents lists the actions of kubelets, nodes and users.
var podEvents = []Event{
	{Name: "pod starts", Life: 16, Step: 16, Aside: 2, can: waiting, do: func(s *Scene, p *corev1.Pod) {
		s.Start(p.UID)
		if !s.Chance(30, "ready") {
			s.Ready(p.UID, corev1.ConditionFalse)
		}
	}},
	{Name: "readiness flips", Life: 5, Step: 3, can: running, do: func(s *Scene, p *corev1.Pod) {
		before := s.Version()
		s.Ready(p.UID, corev1.ConditionTrue)
		if s.Version() == before {
			s.Ready(p.UID, corev1.ConditionFalse)
		}
	}},
	{Name: "pod exits 0", Life: 9, Step: 12, Aside: 2, can: active, do: exits(0)},
	{Name: "pod exits 1", Life: 4, Step: 7, Aside: 1, can: active, do: exits(1)},
	{Name: "pod exits 42", Life: 3, Step: 5, Aside: 1, can: active, do: exits(42)},
	{Name: "pod exits 137", Life: 2, Step: 2, Aside: 1, can: active, do: exits(137)},
	{Name: "pod exits and does not say when", Step: 2, can: active, do: func(s *Scene, p *corev1.Pod) {
		s.End(p.UID, pick[int32](s, "exit code", 0, 1, 42))
		s.Edit(p.UID, func(p *corev1.Pod) {
			for i := range p.Status.ContainerStatuses {
				p.Status.ContainerStatuses[i].State.Terminated.FinishedAt = metav1.Time{}
			}
			if s.Chance(50, "no conditions") {
				p.Status.Conditions = nil
			}
		})
	}},
	{Name: "pod fails without container statuses", Life: 1, can: active, do: phase(corev1.PodFailed)},
	{Name: "containers restart", Life: 3, Step: 4, Aside: 1, can: func(s *Scene, p *corev1.Pod) bool {
		return running(s, p) && p.Spec.RestartPolicy == corev1.RestartPolicyOnFailure
	}, do: func(s *Scene, p *corev1.Pod) { s.Restart(p.UID) }},
	{Name: "eviction announced", Life: 3, Step: 3, Aside: 1, can: goesOn,
		do: func(s *Scene, p *corev1.Pod) { s.Disrupt(p.UID) }},
	{Name: "eviction announced after the end", Step: 1,
		can: func(_ *Scene, p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed },
		do: func(s *Scene, p *corev1.Pod) {
			s.Edit(p.UID, func(p *corev1.Pod) {
				p.Status.Conditions = append(p.Status.Conditions,
					corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue})
			})
		}},
	{Name: "node does not answer", Life: 1, can: running, do: func(s *Scene, p *corev1.Pod) {
		s.Ready(p.UID, corev1.ConditionUnknown)
		phase(corev1.PodUnknown)(s, p)
	}},
	{Name: "node lost", Step: 2, Aside: 1, can: active, do: func(s *Scene, p *corev1.Pod) { s.Lose(p.UID) }},
	{Name: "pod deleted with grace", Life: 2, Step: 4, Aside: 1, can: stays, do: func(s *Scene, p *corev1.Pod) {
		s.Delete(p.UID, pick[int64](s, "grace", cluster.DefaultGrace, cluster.DefaultGrace, 1))
	}},
	{Name: "pod deleted by force", Life: 1, Step: 2, Aside: 1,
		can: func(s *Scene, p *corev1.Pod) bool { return stays(s, p) || goesOn(s, p) }, do: removed},
	{Name: "ended pods removed", Step: 3,
		can: func(s *Scene, p *corev1.Pod) bool { return stays(s, p) && !goesOn(s, p) }, do: removed},
	{Name: "deleted pod exits 0", Life: 3, Step: 4, Aside: 1, can: terminating, do: exits(0)},
	{Name: "deleted pod exits 137", Life: 3, Step: 8, Aside: 1, can: terminating, do: exits(137)},
	{Name: "deleted pod exits with its own code", Life: 3, Step: 2, can: terminating,
		do: func(s *Scene, p *corev1.Pod) { s.End(p.UID, pick[int32](s, "exit code", 42, 1)) }},
	{Name: "deleted pod fails", Step: 4, can: terminating, do: func(s *Scene, p *corev1.Pod) {
		s.Edit(p.UID, func(p *corev1.Pod) {
			p.Status.Phase, p.DeletionGracePeriodSeconds = corev1.PodFailed, new(int64)
		})
	}},
	{Name: "pod vanishes", Life: 1, do: func(s *Scene, p *corev1.Pod) { s.Vanish(p.UID) }},
}

// tamperings are changes of pods that no client should make. The last one is omitted in a [Life]
// with caches that lag: if a pod is orphaned while it is being counted, Kubernetes and jobfate
// both adopt it, with a finalizer, and count it again.
var tamperings = []Event{
	{Name: "phase flips", Life: 2, Step: 2, Aside: 1,
		can: func(s *Scene, p *corev1.Pod) bool { return !goesOn(s, p) },
		do: func(s *Scene, p *corev1.Pod) {
			if p.Status.Phase == corev1.PodFailed {
				phase(corev1.PodSucceeded)(s, p)
			} else {
				phase(corev1.PodFailed)(s, p)
			}
		}},
	{Name: "second pod for an index", Life: 3, Step: 1, Aside: 1, can: func(s *Scene, p *corev1.Pod) bool {
		return s.Job() != nil && metav1.IsControlledBy(p, s.Job())
	}, do: func(s *Scene, p *corev1.Pod) {
		twin := p.DeepCopy()
		twin.Name, twin.GenerateName, twin.Spec.NodeName = "", "twin-", ""
		twin.DeletionTimestamp, twin.DeletionGracePeriodSeconds = nil, nil
		twin.Finalizers = []string{s.Keys.Finalizer}
		s.Add(twin)
	}},
	{Name: "foreign pod", Step: 1,
		can: func(s *Scene, _ *corev1.Pod) bool { return len(s.Pods()) <= 12 },
		do: func(s *Scene, p *corev1.Pod) {
			other := &corev1.Pod{Spec: p.Spec}
			other.Namespace, other.GenerateName, other.Labels = p.Namespace, "foreign-", p.Labels
			other.Annotations, other.Spec.NodeName = p.Annotations, ""
			other.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet",
				Name: "other", UID: "other", Controller: new(true)}}
			if s.Chance(50, "finalizer") {
				other.Finalizers = []string{s.Keys.Finalizer}
			}
			s.Add(other)
		}},
	{Name: "finalizer removed", Life: 1, Step: 1, Aside: 1, can: tracked, do: func(s *Scene, p *corev1.Pod) {
		s.Edit(p.UID, func(p *corev1.Pod) {
			p.Finalizers = slices.DeleteFunc(p.Finalizers, func(f string) bool { return f == s.Keys.Finalizer })
		})
	}},
	{Name: "annotation edited", Life: 2, Step: 2, Aside: 1, can: annotated,
		do: annotates("0", "1", "2", "7", "-1", "x", "+1")},
	{Name: "annotation made huge", Step: 1, Aside: 1, can: annotated,
		do: annotates("2147483647", "2147483646", "2147483648", strings.Repeat("9", 30))},
	{Name: "annotation deleted", Step: 1, Aside: 1, can: annotated, do: annotates("")},
	{Name: "pod's label changed", Life: 1, Step: 1, Aside: 1, can: owned, do: func(s *Scene, p *corev1.Pod) {
		key, _ := Selected(s.Job())
		label(s, p, key, "other")
	}},
	{Name: "pod's label put back", Step: 2, Aside: 1, can: func(s *Scene, p *corev1.Pod) bool {
		key, value := Selected(s.Job())
		return value != "" && p.Labels[key] == "other"
	}, do: func(s *Scene, p *corev1.Pod) {
		key, value := Selected(s.Job())
		label(s, p, key, value)
	}},
	{Name: "pod without finalizer orphaned", Step: 1, Aside: 1,
		can: func(s *Scene, p *corev1.Pod) bool { return owned(s, p) && !tracked(s, p) }, do: orphaned},
	{Name: "pod orphaned", Life: 1, Step: 1, Aside: 1,
		can: func(s *Scene, p *corev1.Pod) bool { return owned(s, p) && tracked(s, p) }, do: orphaned},
}

// jobEvents lists the changes of the Job by users and other controllers.
var jobEvents = []Event{
	{Name: "parallelism changed", Life: 9, Step: 3, Aside: 1, job: true,
		do: edits(func(s *Scene, spec *batchv1.JobSpec) { spec.Parallelism = new(int32(s.Among(6, "parallelism"))) })},
	{Name: "completions changed", Life: 9, Step: 3, Aside: 1, job: true,
		can: has(jobstatus.IsIndexed),
		do: edits(func(s *Scene, spec *batchv1.JobSpec) {
			n := int32(s.Among(6, "completions"))
			spec.Parallelism, spec.Completions = new(n), new(n)
		})},
	{Name: "suspended", Life: 3, Step: 2, Aside: 1, job: true,
		can: has(func(s *batchv1.JobSpec) bool { return !*s.Suspend }),
		do:  edits(func(_ *Scene, spec *batchv1.JobSpec) { spec.Suspend = new(true) })},
	{Name: "resumed", Life: 6, Step: 6, Aside: 1, job: true,
		can: has(func(s *batchv1.JobSpec) bool { return *s.Suspend }),
		do:  edits(func(_ *Scene, spec *batchv1.JobSpec) { spec.Suspend = new(false) })},
	{Name: "deadline changed", Life: 3, Step: 2, Aside: 1, job: true, do: edits(func(s *Scene, spec *batchv1.JobSpec) {
		spec.ActiveDeadlineSeconds = pick(s, "deadline", nil, new(int64(1)), new(int64(20)), new(int64(60)),
			new(int64(600)), new(int64(math.MaxInt32)))
	})},
	{Name: "deadline made huge", Step: 1, job: true, do: edits(func(_ *Scene, spec *batchv1.JobSpec) {
		spec.ActiveDeadlineSeconds = new(int64(math.MaxInt64))
	})},
	{Name: "backoffLimit changed", Life: 3, job: true, do: edits(func(s *Scene, spec *batchv1.JobSpec) {
		spec.BackoffLimit = new(pick[int32](s, "backoffLimit", 0, 1, 3, math.MaxInt32))
	})},
	{Name: "maxFailedIndexes changed", Life: 3, job: true,
		can: has(func(s *batchv1.JobSpec) bool { return s.MaxFailedIndexes != nil }),
		do: edits(func(s *Scene, spec *batchv1.JobSpec) {
			spec.MaxFailedIndexes = new(int32(s.Among(5, "maxFailedIndexes")))
		})},
	{Name: "replacement policy changed", Life: 3, job: true, do: edits(func(s *Scene, spec *batchv1.JobSpec) {
		spec.PodReplacementPolicy = new(pick(s, "replacement", batchv1.Failed, batchv1.TerminatingOrFailed))
	})},
	{Name: "false condition put in front", Step: 1, job: true,
		can: func(s *Scene, _ *corev1.Pod) bool { return len(s.Job().Status.Conditions) == 0 },
		do: func(s *Scene, _ *corev1.Pod) {
			status := s.Job().Status
			status.Conditions = []batchv1.JobCondition{{Type: pick(s, "condition", batchv1.JobFailureTarget,
				batchv1.JobSuccessCriteriaMet), Status: corev1.ConditionFalse}}
			s.SetStatus(status)
		}},
	{Name: "Job deleted in the background", Step: 1, Aside: 1, job: true,
		do: deletes(metav1.DeletePropagationBackground)},
	{Name: "Job deleted in the foreground", Life: 1, Step: 1, Aside: 1, job: true,
		do: deletes(metav1.DeletePropagationForeground)},
	{Name: "Job deleted, its pods orphaned", Step: 1, Aside: 1, job: true, do: deletes(metav1.DeletePropagationOrphan)},
}

func active(_ *Scene, p *corev1.Pod) bool { return cluster.IsActive(p) }
func goesOn(_ *Scene, p *corev1.Pod) bool { return !cluster.HasEnded(p) }
func stays(_ *Scene, p *corev1.Pod) bool  { return p.DeletionTimestamp == nil }
func waiting(_ *Scene, p *corev1.Pod) bool {
	return cluster.IsActive(p) && p.Status.Phase != corev1.PodRunning
}
func running(_ *Scene, p *corev1.Pod) bool {
	return cluster.IsActive(p) && p.Status.Phase == corev1.PodRunning
}
func tracked(s *Scene, p *corev1.Pod) bool { return slices.Contains(p.Finalizers, s.Keys.Finalizer) }

func terminating(_ *Scene, p *corev1.Pod) bool {
	return p.DeletionTimestamp != nil && !cluster.HasEnded(p)
}

func owned(_ *Scene, p *corev1.Pod) bool {
	return len(p.OwnerReferences) == 1 && cluster.OwnedByJob(&p.OwnerReferences[0])
}

func exits(code int32) func(*Scene, *corev1.Pod) {
	return func(s *Scene, p *corev1.Pod) { s.End(p.UID, code) }
}

func phase(of corev1.PodPhase) func(*Scene, *corev1.Pod) {
	return func(s *Scene, p *corev1.Pod) { s.Edit(p.UID, func(p *corev1.Pod) { p.Status.Phase = of }) }
}

func removed(s *Scene, p *corev1.Pod) { s.Delete(p.UID, 0) }

func orphaned(s *Scene, p *corev1.Pod) {
	s.Edit(p.UID, func(p *corev1.Pod) { p.OwnerReferences = nil })
}

// annotationsOf returns the annotations of a pod that hold state of its Job.
func annotationsOf(s *Scene, p *corev1.Pod) []string {
	return slices.DeleteFunc([]string{s.Keys.Index, s.Keys.FailureCount, s.Keys.IgnoredFailureCount},
		func(key string) bool { return p.Annotations[key] == "" })
}

func annotated(s *Scene, p *corev1.Pod) bool { return len(annotationsOf(s, p)) > 0 }

// annotates changes one of these annotations; an empty value removes it.
func annotates(values ...string) func(*Scene, *corev1.Pod) {
	return func(s *Scene, p *corev1.Pod) {
		key, value := pick(s, "annotation", annotationsOf(s, p)...), pick(s, "value", values...)
		s.Edit(p.UID, func(p *corev1.Pod) {
			if p.Annotations[key] = value; value == "" {
				delete(p.Annotations, key)
			}
		})
	}
}

func label(s *Scene, p *corev1.Pod, key, value string) {
	s.Edit(p.UID, func(p *corev1.Pod) { metav1.SetMetaDataLabel(&p.ObjectMeta, key, value) })
}

// has is true for a Job whose spec meets a condition.
func has(condition func(*batchv1.JobSpec) bool) func(*Scene, *corev1.Pod) bool {
	return func(s *Scene, _ *corev1.Pod) bool { return condition(&s.Job().Spec) }
}

// edits changes the spec of the Job, unless the API server rejects the change.
func edits(how func(*Scene, *batchv1.JobSpec)) func(*Scene, *corev1.Pod) {
	return func(s *Scene, _ *corev1.Pod) {
		next := s.Job().Spec.DeepCopy()
		if how(s, next); !equality.Semantic.DeepEqual(next, &s.Job().Spec) {
			_ = s.EditJob(func(spec *batchv1.JobSpec) { *spec = *next })
		}
	}
}

func deletes(policy metav1.DeletionPropagation) func(*Scene, *corev1.Pod) {
	return func(s *Scene, _ *corev1.Pod) { s.DeleteJob(policy) }
}

// Selected returns a label by which a Job selects its pods; the value is empty if there is none.
func Selected(job *batchv1.Job) (key, value string) {
	if job == nil || job.Spec.Selector == nil {
		return batchv1.ControllerUidLabel, ""
	}
	for _, key := range slices.Sorted(maps.Keys(job.Spec.Selector.MatchLabels)) {
		return key, job.Spec.Selector.MatchLabels[key]
	}
	return batchv1.ControllerUidLabel, ""
}
