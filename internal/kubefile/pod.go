package kubefile

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podReader reads what is kept of a pod off JSON as the API server writes it, in
// one pass: texts without escapes, whole numbers, no member twice. It gives up on
// everything else, which is then left to the ordinary decoder: what it does read
// it reads alike. Of a file with 100,000 pods this is most of the time.
type podReader struct {
	text    []byte
	at      int
	givenUp bool
	words   map[string]string // texts that occur in many pods, each held once
}

// mostWords is how many texts are held: those that recur come early.
const mostWords = 4096

// read reads a pod from the beginning of a text, and returns it with the number
// of bytes that it took; nil when it gave up.
func (r *podReader) read(text []byte) (*corev1.Pod, int) {
	if r.words == nil {
		r.words = map[string]string{}
	}
	r.text, r.at, r.givenUp = text, 0, false
	pod := &corev1.Pod{}
	spec, status := false, false
	for name := range r.members {
		switch string(name) {
		case "apiVersion":
			readText(r, &pod.APIVersion)
		case "kind":
			readText(r, &pod.Kind)
		case "metadata":
			r.metadata(&pod.ObjectMeta)
		case "spec":
			spec = true
			r.spec(&pod.Spec)
		case "status":
			status = true
			r.status(&pod.Status)
		default:
			r.givenUp = true // the ordinary decoder reads what the API does not have here
		}
	}
	if r.givenUp || !spec || !status || (objectType{pod.APIVersion, pod.Kind}) != typePod {
		return nil, 0
	}
	return pod, r.at
}

func (r *podReader) metadata(m *metav1.ObjectMeta) {
	for name := range r.members {
		switch string(name) {
		case "name":
			readText(r, &m.Name)
		case "namespace":
			readText(r, &m.Namespace)
		case "uid":
			readText(r, &m.UID)
		case "resourceVersion":
			readText(r, &m.ResourceVersion)
		case "labels":
			r.texts(&m.Labels, nil)
		case "annotations":
			r.texts(&m.Annotations, keepOfAnnotations)
		case "ownerReferences":
			readList(r, &m.OwnerReferences, 1, (*podReader).owner)
		case "finalizers":
			readList(r, &m.Finalizers, 1, readText)
		case "creationTimestamp":
			r.time(&m.CreationTimestamp)
		case "deletionTimestamp":
			readPointer(r, &m.DeletionTimestamp, (*podReader).time)
		case "deletionGracePeriodSeconds":
			readPointer(r, &m.DeletionGracePeriodSeconds, readNumber)
		default:
			r.skip()
		}
	}
}

func (r *podReader) owner(o *metav1.OwnerReference) {
	for name := range r.members {
		switch string(name) {
		case "apiVersion":
			readText(r, &o.APIVersion)
		case "kind":
			readText(r, &o.Kind)
		case "name":
			readText(r, &o.Name)
		case "uid":
			readText(r, &o.UID)
		case "controller":
			readPointer(r, &o.Controller, (*podReader).truth)
		case "blockOwnerDeletion":
			readPointer(r, &o.BlockOwnerDeletion, (*podReader).truth)
		default:
			r.givenUp = true // nothing of a reference is passed over, see keepOfPod
		}
	}
}

func (r *podReader) spec(s *corev1.PodSpec) {
	for name := range r.members {
		switch string(name) {
		case "nodeName":
			readText(r, &s.NodeName)
		case "initContainers":
			readList(r, &s.InitContainers, 1, (*podReader).container)
		default:
			r.skip()
		}
	}
}

func (r *podReader) container(c *corev1.Container) {
	for name := range r.members {
		switch string(name) {
		case "name":
			readText(r, &c.Name)
		case "restartPolicy":
			readPointer(r, &c.RestartPolicy, readText)
		default:
			r.skip()
		}
	}
}

func (r *podReader) status(s *corev1.PodStatus) {
	for name := range r.members {
		switch string(name) {
		case "phase":
			readText(r, &s.Phase)
		case "reason":
			readText(r, &s.Reason)
		case "conditions":
			readList(r, &s.Conditions, 5, (*podReader).condition)
		case "containerStatuses":
			readList(r, &s.ContainerStatuses, 1, (*podReader).containerStatus)
		case "initContainerStatuses":
			readList(r, &s.InitContainerStatuses, 1, (*podReader).containerStatus)
		default:
			r.skip()
		}
	}
}

func (r *podReader) condition(c *corev1.PodCondition) {
	for name := range r.members {
		switch string(name) {
		case "type":
			readText(r, &c.Type)
		case "status":
			readText(r, &c.Status)
		case "reason":
			readText(r, &c.Reason)
		case "lastTransitionTime":
			r.time(&c.LastTransitionTime)
		default:
			r.skip()
		}
	}
}

func (r *podReader) containerStatus(s *corev1.ContainerStatus) {
	for name := range r.members {
		switch string(name) {
		case "name":
			readText(r, &s.Name)
		case "restartCount":
			readNumber(r, &s.RestartCount)
		case "state":
			r.state(&s.State)
		default:
			r.skip()
		}
	}
}

func (r *podReader) state(s *corev1.ContainerState) {
	for name := range r.members {
		if string(name) == "terminated" {
			readPointer(r, &s.Terminated, (*podReader).terminated)
			continue
		}
		r.skip()
	}
}

func (r *podReader) terminated(s *corev1.ContainerStateTerminated) {
	for name := range r.members {
		switch string(name) {
		case "exitCode":
			readNumber(r, &s.ExitCode)
		case "reason":
			readText(r, &s.Reason)
		case "finishedAt":
			r.time(&s.FinishedAt)
		default:
			r.skip()
		}
	}
}

// What follows reads values. Where there is a value already the member occurs
// twice: what that means is left to the ordinary decoder.

func readText[T ~string](r *podReader, p *T) {
	if r.null(*p == "") {
		return
	}
	*p = T(r.word(r.quoted()))
}

func readNumber[T int32 | int64](r *podReader, p *T) {
	if r.null(*p == 0) {
		return
	}
	start := r.at
	for r.at < len(r.text) && (isDigit(r.text[r.at]) || r.text[r.at] == '-') {
		r.at++
	}
	digits := r.text[start:r.at]
	n, err := strconv.ParseInt(string(digits), 10, 64)
	*p = T(n)
	// The longest are left to the decoder, and so is what is no JSON.
	r.expect(err == nil && int64(*p) == n && len(digits) < 18 && (isNumber(digits) || digits[0] == '-' && isNumber(digits[1:])))
	if b := r.next(); b != ',' && b != '}' && b != ']' {
		r.givenUp = true // the number goes on, as 1e3 and 1.0 do
	}
}

func (r *podReader) truth(p *bool) {
	if r.next() == 't' {
		*p = true
		r.literal("true")
		return
	}
	r.literal("false")
}

func (r *podReader) time(p *metav1.Time) {
	if r.null(p.IsZero()) {
		return
	}
	t, err := time.Parse(time.RFC3339, string(r.quoted()))
	r.expect(err == nil)
	p.Time = t.Local()
}

// texts reads the texts that are kept.
func (r *podReader) texts(p *map[string]string, k keep) {
	if r.null(*p == nil) {
		return
	}
	out := map[string]string{}
	for name := range r.members {
		if _, kept := k.within(name); !kept {
			r.skip()
			continue
		}
		key, value := r.word(name), ""
		readText(r, &value)
		out[key] = value
	}
	*p = out
}

func readPointer[T any](r *podReader, p **T, read func(*podReader, *T)) {
	if r.null(*p == nil) {
		return
	}
	*p = new(T)
	read(r, *p)
}

// readList reads a list that usually has n elements.
func readList[T any](r *podReader, p *[]T, n int, read func(*podReader, *T)) {
	if r.null(*p == nil) {
		return
	}
	out := make([]T, 0, n)
	for range r.elements {
		out = append(out, *new(T))
		read(r, &out[len(out)-1])
	}
	*p = out
}
