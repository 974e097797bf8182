package explore

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobtest/referee"
)

// table stores each version once and numbers them from 1.
type table[K comparable, T any] struct {
	numbers map[K]uint32
	values  []T
}

func newTable[K comparable, T any]() table[K, T] {
	return table[K, T]{numbers: map[K]uint32{}, values: make([]T, 1)}
}

func (t *table[K, T]) number(key K, value T) uint32 {
	if n, ok := t.numbers[key]; ok {
		return n
	}
	n := uint32(len(t.values))
	t.numbers[key] = n
	t.values = append(t.values, value)
	return n
}

// jobNumber and podNumber return the numbers of versions of objects. They ignore resource
// versions.
func (x *search) jobNumber(job *batchv1.Job) uint16 {
	if job == nil {
		return 0
	}
	copied := *job
	copied.ResourceVersion = ""
	// Only users change the spec, and every change increments the generation.
	key := encoded(copied.ObjectMeta) + encoded(copied.Status)
	return x.short(x.jobs.number(key, &copied))
}

func (x *search) podNumber(pod *corev1.Pod) uint16 {
	if pod == nil {
		return 0
	}
	copied := *pod
	copied.ResourceVersion = ""
	return x.short(x.pods.number(encoded(&copied), &copied))
}

// short converts a number for a state. If there are too many versions, the search ends with
// an error.
func (x *search) short(n uint32) uint16 {
	if n > 1<<16-1 {
		x.err = fmt.Errorf("there are more than %d versions of an object: Old may be too large for the Ticks", 1<<16-1)
		return 0
	}
	return uint16(n)
}

func (x *search) ghostNumber(g referee.Ghost) uint32 {
	return x.ghosts.number(g.Key(), g)
}

func (x *search) memoryNumber(c caller) uint32 {
	return x.memories.number(c.key(), c)
}

func encoded(v any) string {
	text, _ := json.Marshal(v) // objects always encode
	return string(text)
}

// older returns a time that is earlier by a duration, but not earlier than the limit. Zero stays zero.
func older(t time.Time, by time.Duration, limit time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	if t = t.Add(-by); t.Before(limit) {
		return limit
	}
	return t
}

func (x *search) age(t *metav1.Time, by time.Duration) {
	if t != nil {
		t.Time = older(t.Time, by, x.limit)
	}
}

func (x *search) agePod(pod *corev1.Pod, by time.Duration) *corev1.Pod {
	pod = pod.DeepCopy()
	x.age(&pod.CreationTimestamp, by)
	x.age(pod.DeletionTimestamp, by)
	x.age(pod.Status.StartTime, by)
	for i := range pod.Status.Conditions {
		x.age(&pod.Status.Conditions[i].LastTransitionTime, by)
	}
	x.ageContainers(pod.Status.InitContainerStatuses, by)
	x.ageContainers(pod.Status.ContainerStatuses, by)
	return pod
}

func (x *search) ageContainers(containers []corev1.ContainerStatus, by time.Duration) {
	for i := range containers {
		switch c := &containers[i].State; {
		case c.Running != nil:
			x.age(&c.Running.StartedAt, by)
		case c.Terminated != nil:
			x.age(&c.Terminated.StartedAt, by)
			x.age(&c.Terminated.FinishedAt, by)
		}
	}
}

func (x *search) ageJob(job *batchv1.Job, by time.Duration) *batchv1.Job {
	job = job.DeepCopy()
	x.age(&job.CreationTimestamp, by)
	x.age(job.DeletionTimestamp, by)
	x.age(job.Status.StartTime, by)
	x.age(job.Status.CompletionTime, by)
	for i := range job.Status.Conditions {
		x.age(&job.Status.Conditions[i].LastProbeTime, by)
		x.age(&job.Status.Conditions[i].LastTransitionTime, by)
	}
	return job
}

// uids lists the UIDs of the places.
var uids = [maxPods]types.UID{"pod-1", "pod-2", "pod-3", "pod-4", "pod-5"}

// mentioned returns the places whose UIDs are in a text, as bits.
func mentioned(text string) (bits uint8) {
	for i, uid := range uids {
		if strings.Contains(text, string(uid)) {
			bits |= 1 << i
		}
	}
	return bits
}
