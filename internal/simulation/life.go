package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/tracking"
)

// Exit codes and waits as a kubelet has them.
const (
	terminated  = 143 // 128 and SIGTERM
	crashDelay  = 10 * time.Second
	crashLonger = 5 // doublings until the longest crash delay
	crashMost   = 300 * time.Second
)

// life is what is to become of a pod, and where it is told.
type life struct {
	uid    types.UID
	index  int32 // what courses go by
	course Course
	turn   int
	dice   *rand.Rand
	lane   *Lane
	at     int // the pod in the lane
	gone   bool
}

func (l *life) pod() *Pod { return &l.lane.Pods[l.at] }

// born takes a new pod up and sends it on its course.
func (p *play) born(pod *corev1.Pod) {
	l := &life{uid: pod.UID}
	if p.indexed {
		l.index = tracking.IndexOf(pod)
		l.turn = p.taken[l.index]
		l.lane = p.lane(l.index)
	} else {
		l.index, l.turn = int32(p.result.Totals.Pods), p.result.Totals.Pods
		l.lane = p.freeLane()
	}
	l.dice = rand.New(rand.NewPCG(p.scenario.Seed, uint64(l.index)<<32|uint64(l.turn)))
	p.taken[l.index]++
	p.result.Totals.Pods++
	l.at = len(l.lane.Pods)
	l.lane.Pods = append(l.lane.Pods, Pod{Name: pod.Name, Created: p.now(), Outcome: PodUnfinished})
	l.course = p.courseOf(l)
	p.lives[pod.UID] = l
	delay := or(l.course.StartDelay, or(p.scenario.StartDelay, defaultDelay))
	p.after(delay, func() { p.start(l) })
}

// lane returns the lane of an index.
func (p *play) lane(index int32) *Lane {
	lane := p.lanes[index]
	if lane == nil {
		lane = &Lane{Index: index, Pods: []Pod{}, Waits: []Wait{}}
		p.lanes[index] = lane
	}
	return lane
}

// freeLane returns the first lane whose last pod has ended.
func (p *play) freeLane() *Lane {
	for ; ; p.busy++ {
		lane := p.lane(p.busy)
		if n := len(lane.Pods); n == 0 || lane.Pods[n-1].Ended != nil {
			return lane
		}
	}
}

// courseOf returns the first course that holds for a pod. The n-th pod of an
// index has the same luck in whatever Job, so that two can be compared.
func (p *play) courseOf(l *life) Course {
	for i, c := range p.scenario.Pods {
		if c.Indexes != "" && !p.indexes[i].Contains(l.index) {
			continue
		}
		if c.Chance == nil || l.dice.Float64() < *c.Chance {
			return c
		}
	}
	return Course{}
}

func (p *play) start(l *life) {
	pod := p.cluster.Pod(l.uid)
	if pod == nil || !cluster.IsActive(pod) {
		return
	}
	p.cluster.Start(l.uid)
	now := p.now()
	l.pod().Started = &now
	p.proceed(l, 0)
}

// proceed lets the containers of a pod run, after a delay.
func (p *play) proceed(l *life, delay time.Duration) {
	duration := defaultDuration
	if list := l.course.Durations; len(list) > 0 {
		duration = list[min(l.turn, len(list)-1)].Duration
	}
	if spread := l.course.Spread.Duration; spread > 0 {
		duration += time.Duration(l.dice.Int64N(int64(spread)))
	}
	p.after(delay+duration, func() { p.exit(l) })
}

// exit ends the containers of a pod, if nothing else has.
func (p *play) exit(l *life) {
	pod := p.cluster.Pod(l.uid)
	if pod == nil || !cluster.IsActive(pod) {
		return
	}
	code := inTurn(l.course.Exits, l.turn, 0)
	switch {
	case l.course.Evict:
		p.evict(l)
	case code != 0 && pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure:
		p.cluster.Restart(l.uid)
		restarts := l.pod().Restarts
		l.pod().Restarts++
		l.turn++
		p.taken[l.index] = max(p.taken[l.index], l.turn+1)
		p.proceed(l, min(crashDelay<<min(restarts, crashLonger), crashMost))
	default:
		l.pod().ExitCode = &code
		p.cluster.End(l.uid, code)
	}
}

func (p *play) evict(l *life) {
	p.cluster.Disrupt(l.uid)
	p.cluster.Delete(l.uid, cluster.DefaultGrace)
}

// stopping lets a pod that is deleted stop.
func (p *play) stopping(l *life, grace int64) {
	delay := min(or(p.scenario.StopDelay, defaultDelay), time.Duration(grace)*time.Second)
	p.after(delay, func() {
		pod := p.cluster.Pod(l.uid)
		switch {
		case pod == nil || cluster.HasEnded(pod):
		case l.pod().Started == nil: // pod garbage collection
			p.cluster.Edit(l.uid, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
		default:
			code := int32(terminated)
			l.pod().ExitCode = &code
			p.cluster.End(l.uid, code)
		}
	})
}

// happen lets an event of the scenario happen.
func (p *play) happen(e Event) error {
	tell := func(format string, args ...any) {
		p.result.Happened = append(p.result.Happened, Happening{p.now(), fmt.Sprintf(format, args...)})
	}
	if e.Suspend != nil || e.Parallelism != nil || e.Completions != nil {
		err := p.cluster.EditJob(func(spec *batchv1.JobSpec) {
			set(&spec.Suspend, e.Suspend, "suspend", tell)
			set(&spec.Parallelism, e.Parallelism, "parallelism", tell)
			set(&spec.Completions, e.Completions, "completions", tell)
		})
		if err != nil {
			return err
		}
	}
	for _, pod := range p.cluster.Pods() {
		l := p.lives[pod.UID]
		if l == nil || !cluster.IsActive(pod) {
			continue
		}
		switch {
		case holds(e.Lose, l.index):
			tell("the node of pod %s is lost", pod.Name)
			p.cluster.Lose(l.uid)
		case holds(e.Evict, l.index):
			tell("pod %s is evicted", pod.Name)
			p.evict(l)
		}
	}
	return nil
}

// set sets a field of the spec, if an event does.
func set[T any](field **T, value *T, name string, tell func(string, ...any)) {
	if value != nil {
		v := *value
		*field = &v
		tell("%s is set to %v", name, v)
	}
}
