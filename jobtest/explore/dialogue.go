package explore

import (
	"math/bits"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// step runs the controller from a position with the answers so far, and adds that
// position. After those each request is answered as it is when nothing goes wrong,
// for most often nothing does: the positions after such answers are added as well,
// and one run makes them all.
func (x *search) step(view cluster.View, sight sight, answers []answer) uint32 {
	first := uint32(len(x.positions))
	d := &dialogue{search: x, status: sight.job, mark: asSeen, own: firstWrite, pods: sight.pods}
	for i := range d.marks {
		d.marks[i] = asSeen
	}
	d.at = x.addPosition(view, sight, answers)
	controller := x.memories.values[sight.memory].Clone()
	after, err := controller.Sync(&cluster.Client{View: view, Send: d.send})
	if last := d.at; last.request == nil {
		last.after, last.err, last.memory = after, err, x.memoryNumber(controller)
	}
	return first
}

// addPosition adds a position of which the request is not known yet.
func (x *search) addPosition(view cluster.View, sight sight, answers []answer) *position {
	p := &position{view: view, sight: sight, answers: answers}
	for i, n := range sight.pods {
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

// dialogue is what a controller and the API server say to each other in a sync.
type dialogue struct {
	*search
	at     *position       // the last one so far
	given  int             // how many of its answers were given
	status uint16          // the Job as the controller has read it or its own status left it
	mark   mark            // of that
	own    mark            // of its next status
	read   *cluster.View   // what it has read live
	pods   [MaxPods]uint16 // the pods as it has seen them or its requests left them
	marks  [MaxPods]mark
}

// send gives the next answer. A controller that asks for what cannot go well is
// killed.
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
		d.at = d.addPosition(p.view, p.sight, append(p.answers[:len(p.answers):len(p.answers)], a))
	}
	a := d.at.answers[d.given]
	d.given++
	if err := a.asError(q); err != nil {
		return cluster.Answer{}, err
	}
	switch q.Verb {
	case cluster.Create:
		pod := d.created(q, int(a.place))
		d.know(int(a.place)-1, d.podNumber(pod), unknown)
		return cluster.Answer{Pod: pod}, nil
	case cluster.Get:
		d.status, d.mark = a.job, a.mark
		if a.mark == firstWrite {
			d.own = secondWrite // also when that one's answer was lost
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
		d.status, d.mark, d.own = e.version, d.own, secondWrite
		return cluster.Answer{Job: d.job(d.status, d.version())}, nil
	}
	if d.heedless {
		return d.heard(q, a), nil
	}
	d.know(placeOf(q), a.pod, a.mark)
	return cluster.Answer{Pod: d.pod(a.pod, a.mark.version(false))}, nil
}

// reads notes what was read live.
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
		d.know(i, n, l.marks[i])
		if n != 0 {
			a.Pods = append(a.Pods, d.pod(n, l.marks[i].version(false)))
		}
	}
	d.reads(func(v *cluster.View) { v.Pods = a.Pods })
	return a
}

// heard answers a controller that only heeds whether a pod is there.
func (d *dialogue) heard(q *cluster.Request, a answer) cluster.Answer {
	if i := placeOf(q); i >= 0 && d.pods[i] != 0 {
		b := d.podAnswer(d.pods[i], d.marks[i], q, asText(q))
		d.know(i, b.pod, b.mark)
	}
	if a.pod == 0 {
		return cluster.Answer{}
	}
	return cluster.Answer{Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: q.Name, UID: q.UID, ResourceVersion: versionOwn}}}
}

// know takes up what an answer said of a pod.
func (d *dialogue) know(place int, pod uint16, is mark) {
	if place >= 0 {
		d.pods[place], d.marks[place] = pod, is
	}
}

// version is the resource version of the Job as the controller knows it.
func (d *dialogue) version() string { return d.mark.version(d.at.sight.behind) }

// expected is the answer to the request of a position when nothing goes wrong, as
// far as the controller's view tells.
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
		used := d.jobMentions(p.sight.job) | d.memoryMentions(p.sight.memory) | p.mentions
		a.place = uint8(bits.TrailingZeros8(^used) + 1)
		return a, int(a.place) <= d.Pods
	default:
		i := placeOf(p.request)
		if i < 0 || d.pods[i] == 0 {
			return a, false
		}
		a = d.podAnswer(d.pods[i], d.marks[i], p.request, p.asks)
		if d.heedless {
			a = heedlessly(a)
		}
		return a, a.kind == fine
	}
	return a, true
}

// asText is what a request to change something says.
func asText(r *cluster.Request) string {
	switch {
	case r.Verb == cluster.Delete:
		return encoded(r.Options)
	case r.Job != nil:
		return encoded(r.Job)
	}
	return string(r.Patch)
}

// created is the pod that a creation leads to in a place.
func (x *search) created(r *cluster.Request, place int) *corev1.Pod {
	pod := cluster.NewPod(r.Pod, place, metaTime(x.now))
	pod.ResourceVersion = versionOwn
	return pod
}
