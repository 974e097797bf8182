package explore

import (
	"math/bits"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// step runs the controller with the answers so far, and adds its position. After these
// answers, step answers each further request as if there were no faults, and adds those
// positions too. That is the most frequent case, so one run computes many positions.
func (x *search) step(view cluster.View, input syncInput, answers []answer) uint32 {
	first := uint32(len(x.positions))
	d := &dialogue{search: x, status: input.job, mark: asSeen, own: firstWrite, pods: input.pods}
	for i := range d.marks {
		d.marks[i] = asSeen
	}
	d.at = x.addPosition(view, input, answers)
	controller := x.memories.values[input.memory].clone()
	after, err := controller.Sync(&cluster.Client{View: view, Send: d.send})
	if last := d.at; last.request == nil {
		last.after, last.err, last.memory = after, err, x.memoryNumber(controller)
	}
	return first
}

// addPosition adds a position whose request is not known yet.
func (x *search) addPosition(view cluster.View, input syncInput, answers []answer) *position {
	p := &position{view: view, input: input, answers: answers}
	for i, n := range input.pods {
		if n != 0 {
			p.mentions |= 1 << i
		}
	}
	for _, a := range answers {
		if a.place > 0 {
			p.mentions |= 1 << (a.place - 1)
		}
		for i, n := range a.list.pods {
			if n != 0 {
				p.mentions |= 1 << i
			}
		}
	}
	x.positions = append(x.positions, p)
	return p
}

// dialogue is the exchange of requests and answers between a controller and the API server
// in a sync.
type dialogue struct {
	*search
	at     *position       // the last position so far
	given  int             // how many of its answers were used
	status uint16          // the Job that the controller last read or stored
	mark   mark            // of that
	own    mark            // of its next status
	read   *cluster.View   // the view with live reads
	pods   [maxPods]uint16 // the pods that it last observed, or as its requests changed them
	marks  [maxPods]mark
}

// send returns the next answer. After the known answers, it stops the controller at a
// request that cannot succeed.
func (d *dialogue) send(q *cluster.Request) (cluster.Answer, error) {
	p := d.at
	if p.request != nil {
		return cluster.Answer{}, cluster.ErrKilled
	}
	if d.given == len(p.answers) {
		p.request, p.asks, p.own, p.read = q, asText(q), d.own, d.read
		a, ok := d.expected(p)
		if !ok {
			return cluster.Answer{}, cluster.ErrKilled
		}
		n := uint32(len(d.positions))
		p.next = map[answer]uint32{a: n}
		d.at = d.addPosition(p.view, p.input, append(p.answers[:len(p.answers):len(p.answers)], a))
	}
	a := d.at.answers[d.given]
	d.given++
	if err := a.asError(q); err != nil {
		return cluster.Answer{}, err
	}
	switch q.Verb {
	case cluster.Create:
		pod := d.created(q, int(a.place))
		d.recordPod(int(a.place)-1, d.podNumber(pod), unknown)
		return cluster.Answer{Pod: pod}, nil
	case cluster.Get:
		d.status, d.mark = a.job, a.mark
		if a.mark == firstWrite || a.mark == secondWrite {
			d.own = a.mark + 1 // also if the answer to that write was lost
		}
		job := d.job(a.job, d.version())
		d.reads(func(v *cluster.View) { setJob(v, job) })
		return cluster.Answer{Job: job}, nil
	case cluster.List:
		return d.listed(a.list), nil
	case cluster.GetPod:
		return cluster.Answer{Pod: d.pod(a.pod, a.mark.version(false))}, nil
	case cluster.Status:
		e := d.stored(d.status, d.version(), q, asText(q))
		if e.err != nil {
			return cluster.Answer{}, e.err
		}
		d.status, d.mark, d.own = e.version, d.own, min(d.own+1, thirdWrite)
		return cluster.Answer{Job: d.job(d.status, d.version())}, nil
	}
	return d.minimalAnswer(q, a), nil
}

// reads records a live read.
func (d *dialogue) reads(what func(*cluster.View)) {
	read := d.at.view
	if d.read != nil {
		read = *d.read
	}
	what(&read)
	d.read = &read
}

// listed answers with a list of pods.
func (d *dialogue) listed(l list) cluster.Answer {
	a := cluster.Answer{Version: versionRead}
	for i, n := range l.pods {
		d.recordPod(i, n, l.marks[i])
		if n != 0 {
			a.Pods = append(a.Pods, d.pod(n, l.marks[i].version(false)))
		}
	}
	d.reads(func(v *cluster.View) { v.Pods = a.Pods })
	return a
}

// minimalAnswer answers a patch or a deletion of a pod. The caller uses only the error, so the pod has only a name, a
// UID and a version.
func (d *dialogue) minimalAnswer(q *cluster.Request, a answer) cluster.Answer {
	if i := placeOf(q); i >= 0 && d.pods[i] != 0 {
		b := d.podAnswer(d.pods[i], d.marks[i], q, asText(q))
		d.recordPod(i, b.pod, b.mark)
	}
	if a.pod == 0 {
		return cluster.Answer{}
	}
	return cluster.Answer{Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: q.Name, UID: q.UID,
		ResourceVersion: versionOwn}}}
}

// recordPod records the pod of an answer.
func (d *dialogue) recordPod(place int, pod uint16, is mark) {
	if place >= 0 {
		d.pods[place], d.marks[place] = pod, is
	}
}

// version returns the resource version of the Job that the controller knows.
func (d *dialogue) version() string { return d.mark.version(d.at.input.behind) }

// expected returns the answer to the request of a position if there is no fault, as far as
// the view of the controller determines it.
func (d *dialogue) expected(p *position) (a answer, ok bool) {
	switch p.request.Verb {
	case cluster.Get:
		a.job, a.mark = d.status, d.mark
	case cluster.List:
		a.list = list{d.pods, d.marks}
		for i, n := range d.pods {
			if n == 0 {
				a.list.marks[i] = unknown
			}
		}
	case cluster.GetPod:
		return answer{kind: gone}, true
	case cluster.Status:
		return a, d.status != 0 && d.stored(d.status, d.version(), p.request, p.asks).err == nil
	case cluster.Create:
		used := d.jobMentions(p.input.job) | d.memoryMentions(p.input.memory) | p.mentions
		a.place = uint8(bits.TrailingZeros8(^used) + 1)
		return a, int(a.place) <= d.Pods
	default:
		i := placeOf(p.request)
		if i < 0 || d.pods[i] == 0 {
			return a, false
		}
		a = withoutPod(d.podAnswer(d.pods[i], d.marks[i], p.request, p.asks))
		return a, a.kind == fine
	}
	return a, true
}

// asText returns the content of a write as text.
func asText(r *cluster.Request) string {
	if r.Verb == cluster.Delete {
		return encoded(r.Options)
	}
	return string(r.Patch)
}

// created returns the pod that a creation stores in a place.
func (x *search) created(r *cluster.Request, place int) *corev1.Pod {
	pod := cluster.NewPod(r.Pod, place, metav1.NewTime(noon))
	pod.ResourceVersion = versionOwn
	return pod
}
