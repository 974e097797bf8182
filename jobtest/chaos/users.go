package chaos

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// userActions are the changes of pods by users and other controllers.
var userActions = []action{
	{"pod deleted with grace", 4, 1, func(r *run) bool { return r.delete(cluster.DefaultGrace) }},
	{"pod deleted by force", 2, 1, func(r *run) bool { return r.delete(0) }},
	{"annotation edited", 2, 1,
		editAnnotation(func(r *run) string { return one(r.dice, "0", "1", "7", "-1", "x", "", "+1") })},
	{"annotation made huge", 1, 1, editAnnotation(func(r *run) string {
		return one(r.dice, "2147483647", "2147483646", "2147483648", strings.Repeat("9", 30))
	})},
	{"annotation deleted", 1, 1, editAnnotation(func(*run) string { return "" })},
	{"finalizer removed", 1, 1, func(r *run) bool {
		return r.edit(r.keys().HasFinalizer, func(p *corev1.Pod) {
			p.Finalizers = slices.DeleteFunc(p.Finalizers, func(f string) bool { return f == r.keys().Finalizer })
		})
	}},
	{"pod orphaned", 1, 1, func(r *run) bool {
		return r.edit(owned, func(p *corev1.Pod) { p.OwnerReferences = nil })
	}},
	{"pod's label changed", 1, 1, func(r *run) bool {
		key, _ := mark(r.c.Job())
		return r.edit(owned, setLabel(key, "other"))
	}},
	{"pod's label put back", 2, 1, func(r *run) bool {
		key, value := mark(r.c.Job())
		return value != "" && r.edit(func(p *corev1.Pod) bool { return p.Labels[key] == "other" }, setLabel(key, value))
	}},
	{"second pod for an index", 1, 1, func(r *run) bool {
		pod := r.pod(func(p *corev1.Pod) bool {
			return owned(p) && r.c.Job() != nil && p.OwnerReferences[0].UID == r.c.Job().UID
		})
		if pod == nil {
			return false
		}
		twin := pod.DeepCopy()
		twin.Name, twin.Spec.NodeName, twin.DeletionTimestamp, twin.DeletionGracePeriodSeconds = "", "", nil, nil
		twin.Finalizers = []string{r.keys().Finalizer}
		r.c.Add(twin)
		return true
	}},
	{"foreign pod", 1, 0, func(r *run) bool {
		pod := r.pod(func(*corev1.Pod) bool { return true })
		if pod == nil || len(r.c.Pods()) > 12 {
			return false
		}
		other := &corev1.Pod{Spec: pod.Spec}
		other.Namespace, other.GenerateName, other.Labels = pod.Namespace, "foreign-", pod.Labels
		other.Annotations, other.Spec.NodeName = pod.Annotations, ""
		other.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet",
			Name: "other", UID: "other", Controller: ptr(true)}}
		if r.chance(50) {
			other.Finalizers = []string{r.keys().Finalizer}
		}
		r.c.Add(other)
		return true
	}},
	{"garbage collected", 8, 0, func(r *run) bool { return r.c.CollectGarbage() }},
	{"ended pods removed", 3, 0, func(r *run) bool {
		pod := r.pod(func(p *corev1.Pod) bool { return cluster.HasEnded(p) && p.DeletionTimestamp == nil })
		if pod != nil {
			r.c.Delete(pod.UID, 0)
		}
		return pod != nil
	}},
}

func owned(p *corev1.Pod) bool {
	return len(p.OwnerReferences) == 1 && cluster.OwnedByJob(&p.OwnerReferences[0])
}

// mark returns a label by which a Job selects its pods; the value is empty if there is
// none.
func mark(job *batchv1.Job) (key, value string) {
	if job == nil || job.Spec.Selector == nil {
		return batchv1.ControllerUidLabel, ""
	}
	for _, key := range slices.Sorted(maps.Keys(job.Spec.Selector.MatchLabels)) {
		return key, job.Spec.Selector.MatchLabels[key]
	}
	return batchv1.ControllerUidLabel, ""
}

func setLabel(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		if p.Labels == nil {
			p.Labels = map[string]string{}
		}
		p.Labels[key] = value
	}
}

func (r *run) delete(grace int64) bool {
	pod := r.pod(func(p *corev1.Pod) bool { return p.DeletionTimestamp == nil || grace == 0 && !cluster.HasEnded(p) })
	if pod != nil {
		r.c.Delete(pod.UID, grace)
	}
	return pod != nil
}

func (r *run) edit(which func(*corev1.Pod) bool, how func(*corev1.Pod)) bool {
	pod := r.pod(which)
	if pod != nil {
		r.c.Edit(pod.UID, how)
	}
	return pod != nil
}

// editAnnotation changes one of the annotations that hold state of Jobs; an empty value
// removes it.
func editAnnotation(value func(*run) string) func(*run) bool {
	return func(r *run) bool {
		key := one(r.dice, r.keys().Index, r.keys().FailureCount, r.keys().IgnoredFailureCount)
		to := value(r)
		return r.edit(func(p *corev1.Pod) bool { return p.Annotations[key] != "" }, func(p *corev1.Pod) {
			if to == "" {
				delete(p.Annotations, key)
			} else {
				p.Annotations[key] = to
			}
		})
	}
}

// specActions are the changes of the Job by users.
var specActions = []action{
	{"parallelism changed", 3, 1, func(r *run) bool {
		n := int32(r.IntN(4))
		return r.editJob(func(s *batchv1.JobSpec) bool {
			changed := *s.Parallelism != n
			s.Parallelism = &n
			return changed
		})
	}},
	{"completions changed", 3, 1, func(r *run) bool {
		n := int32(1 + r.IntN(4))
		return r.editJob(func(s *batchv1.JobSpec) bool {
			if !isIndexed(s) || s.Completions == nil || *s.Completions == n {
				return false
			}
			s.Completions, s.Parallelism = &n, &n
			return true
		})
	}},
	{"suspended", 2, 1, func(r *run) bool { return r.suspend(true) }},
	{"resumed", 6, 1, func(r *run) bool { return r.suspend(false) }},
	{"deadline changed", 2, 1, func(r *run) bool {
		to := one(r.dice, nil, ptr[int64](1), ptr[int64](20), ptr[int64](math.MaxInt64))
		return r.editJob(func(s *batchv1.JobSpec) bool {
			s.ActiveDeadlineSeconds = to
			return true
		})
	}},
	{"false condition put in front", 1, 0, func(r *run) bool {
		job := r.c.Job()
		if job == nil || isDecided(job) || len(job.Status.Conditions) > 0 {
			return false
		}
		status := job.Status
		status.Conditions = []batchv1.JobCondition{{Type: one(r.dice, batchv1.JobFailureTarget,
			batchv1.JobSuccessCriteriaMet), Status: corev1.ConditionFalse}}
		r.c.SetStatus(status)
		return true
	}},
	{"Job deleted in the background", 1, 1, deleteJob(metav1.DeletePropagationBackground)},
	{"Job deleted in the foreground", 1, 1, deleteJob(metav1.DeletePropagationForeground)},
	{"Job deleted, its pods orphaned", 1, 1, deleteJob(metav1.DeletePropagationOrphan)},
	{"Job made again", 20, 2, func(r *run) bool {
		if r.isDone() && r.chance(30) {
			r.c.DeleteJob(metav1.DeletePropagationBackground)
		}
		if r.c.Job() != nil {
			return false
		}
		return r.c.CreateJob(r.at.job) == nil
	}},
}

func (r *run) suspend(to bool) bool {
	return r.editJob(func(s *batchv1.JobSpec) bool {
		if *s.Suspend == to {
			return false
		}
		s.Suspend = &to
		return true
	})
}

// editJob changes the spec. It has no effect if there is no Job, if how returns false, or
// if the API server rejects the change.
func (r *run) editJob(how func(*batchv1.JobSpec) bool) bool {
	job := r.c.Job()
	if job == nil || !how(job.Spec.DeepCopy()) {
		return false
	}
	return r.c.EditJob(func(s *batchv1.JobSpec) { how(s) }) == nil
}

func deleteJob(policy metav1.DeletionPropagation) func(*run) bool {
	return func(r *run) bool {
		job := r.c.Job()
		if job == nil || job.DeletionTimestamp != nil {
			return false
		}
		r.c.DeleteJob(policy)
		return true
	}
}

// number formats a number for a name.
func number(n int) string { return strconv.Itoa(n) }
