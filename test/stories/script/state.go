package script

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// State is a Job and its pods at one moment. Its results must not be changed.
type State struct {
	// Job is nil before the Job is created and after it is gone.
	Job *batchv1.Job
	// All holds all pods of the namespace by name, including those of other Jobs.
	All map[string]*corev1.Pod
	// Events holds the events about the Job, by name.
	Events map[string]*corev1.Event
}

func (s State) clone() State {
	return State{Job: s.Job, All: maps.Clone(s.All), Events: maps.Clone(s.Events)}
}

// Event returns an event about the Job with a reason, or nil.
func (s State) Event(reason string) *corev1.Event {
	for _, e := range s.Events {
		if e.Reason == reason {
			return e
		}
	}
	return nil
}

// Ended reports whether the Job is Complete or Failed.
func (s State) Ended() bool {
	return s.Job != nil && slices.ContainsFunc(s.Job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed)
	})
}

// Pods returns the pods that the Job controls, by index, then by age and name.
func (s State) Pods() []*corev1.Pod {
	return s.Sorted(func(p *corev1.Pod) bool { return s.Job != nil && metav1.IsControlledBy(p, s.Job) })
}

// Active returns the pods of the Job that have not ended and are not being deleted.
func (s State) Active() []*corev1.Pod {
	return slices.DeleteFunc(s.Pods(), func(p *corev1.Pod) bool { return !active(p) })
}

// OfIndex returns the pods of the Job with the given indexes.
func (s State) OfIndex(indexes ...int) []*corev1.Pod {
	return slices.DeleteFunc(s.Pods(), func(p *corev1.Pod) bool { return !slices.Contains(indexes, Index(p)) })
}

// Tracked returns the pods of the namespace that have the finalizer of Jobs.
func (s State) Tracked() []*corev1.Pod { return s.Sorted(tracked) }

// Sorted returns the pods of the namespace that match a function, in the order of Pods.
func (s State) Sorted(holds func(*corev1.Pod) bool) (pods []*corev1.Pod) {
	for _, pod := range s.All {
		if holds(pod) {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(Index(a), Index(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Name, b.Name))
	})
	return pods
}

// pods returns the pods of a scenario, orphans included.
func (s State) pods() []*corev1.Pod {
	return s.Sorted(func(p *corev1.Pod) bool {
		owner := metav1.GetControllerOf(p)
		return owner == nil || owner.Name == JobName
	})
}

// Ended reports whether a pod has succeeded or failed.
func Ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func active(pod *corev1.Pod) bool { return !Ended(pod) && pod.DeletionTimestamp == nil }

func deleted(pod *corev1.Pod) bool { return !Ended(pod) && pod.DeletionTimestamp != nil }

func tracked(pod *corev1.Pod) bool {
	return slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
}

// Index returns the completion index of a pod, or -1.
func Index(pod *corev1.Pod) int {
	n, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
	if err != nil {
		return -1
	}
	return n
}

// choose returns the pods that WHICH names.
func (s State) choose(which string) (chosen []*corev1.Pod) {
	kind, arg, _ := strings.Cut(which, ":")
	for _, pod := range s.pods() {
		owned, more := metav1.GetControllerOf(pod) != nil, strconv.Itoa(len(chosen)) != arg
		is := false
		switch kind {
		case "all":
			is = active(pod) && owned
		case "first":
			is = active(pod) && owned && more
		case "index":
			is = !Ended(pod) && contains(arg, Index(pod))
		case "deleted":
			is = deleted(pod) && (arg == "" || more)
		case "ended":
			is = Ended(pod)
		case "orphans":
			is = !owned
		}
		if is {
			chosen = append(chosen, pod)
		}
	}
	return chosen
}

// Text returns the STATE of the Job. The status agrees with the pods, or the text says how not.
func (s State) Text() string {
	if s.Job == nil {
		return "job=gone"
	}
	words := Status(s.Job)
	if n := len(s.Active()); n != int(s.Job.Status.Active) {
		words = append(words, fmt.Sprintf("and %d active pods", n))
	}
	return strings.Join(words, " ")
}

// Status returns the words of a status.
func Status(job *batchv1.Job) (words []string) {
	st := &job.Status
	for _, f := range []struct {
		name string
		n    *int32
	}{{"active", &st.Active}, {"ready", st.Ready}, {"terminating", st.Terminating},
		{"succeeded", &st.Succeeded}, {"failed", &st.Failed}} {
		if f.n != nil && *f.n != 0 {
			words = append(words, fmt.Sprintf("%s=%d", f.name, *f.n))
		}
	}
	if st.CompletedIndexes != "" {
		words = append(words, "completed="+st.CompletedIndexes)
	}
	if st.FailedIndexes != nil && *st.FailedIndexes != "" {
		words = append(words, "failedIndexes="+*st.FailedIndexes)
	}
	return append(words, Conditions(job)...)
}

// Conditions returns the true conditions of a Job, as Type/Reason, in the order of the status.
func Conditions(job *batchv1.Job) (words []string) {
	for _, c := range job.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			words = append(words, string(c.Type)+"/"+c.Reason)
		}
	}
	return words
}

// is reports whether the Job has a STATE.
func (s State) is(state string) bool {
	sorted := func(s string) []string { return slices.Sorted(slices.Values(strings.Fields(s))) }
	return slices.Equal(sorted(s.Text()), sorted(state))
}

// holds reports whether all FACTS hold.
func (s State) holds(want string) bool {
	facts := []string{"job=gone"}
	if s.Job != nil {
		facts = append(Status(s.Job), "job=there")
		if s.Job.DeletionTimestamp != nil {
			facts = append(facts, "job=deleted")
		}
		if s.Job.Status.StartTime == nil {
			facts = append(facts, "started=no")
		} else {
			facts = append(facts, "started=yes")
		}
		for _, c := range s.Job.Status.Conditions {
			if c.Status == corev1.ConditionFalse {
				facts = append(facts, "!"+string(c.Type)+"/"+c.Reason)
			}
		}
	}
	pods := s.pods()
	for name, holds := range map[string]func(*corev1.Pod) bool{
		"pods":    func(*corev1.Pod) bool { return true },
		"running": active, "ended": Ended, "deleted": deleted, "tracked": tracked,
		"orphans": func(pod *corev1.Pod) bool { return metav1.GetControllerOf(pod) == nil },
	} {
		n := 0
		for _, pod := range pods {
			if holds(pod) {
				n++
			}
		}
		facts = append(facts, fmt.Sprintf("%s=%d", name, n))
	}
	return !slices.ContainsFunc(strings.Fields(want), func(word string) bool {
		name, zero := strings.CutSuffix(word, "=0")
		if zero && !slices.Contains(facts, word) {
			return slices.ContainsFunc(facts, func(f string) bool { return strings.HasPrefix(f, name+"=") })
		}
		return !zero && !slices.Contains(facts, word)
	})
}
