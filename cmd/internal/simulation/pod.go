package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/tracking"
)

// Exit codes and delays of a kubelet.
const (
	terminated  = 143 // 128 and SIGTERM
	crashDelay  = 10 * time.Second
	crashLonger = 5 // doublings until the longest crash delay
	crashMost   = 300 * time.Second
	stable      = 600 * time.Second // a container that has run for longer begins with the shortest delay again
	resetDelay  = time.Second       // when all containers are restarted, the kubelet does not back off
)

// simPod is a pod of the simulation: what it does, and its position in the result.
type simPod struct {
	uid       types.UID
	index     int32 // the index by which behaviours and events name it
	before    int   // the number of earlier pods and restarts of the index
	behaviour Behaviour
	random    *rand.Rand
	lane      *Lane
	at        int  // the position of the pod in the lane
	crashes   int  // the restarts that the kubelet has counted
	restarted Time // the last of them
	gone      bool // the pod has ended
	placed    bool // the pod is on a node, and takes capacity of the cluster
	lost      bool // the node of the pod is lost
}

func (l *simPod) pod() *Pod { return &l.lane.Pods[l.at] }

// addPod adds a pod that was created at the given time.
func (p *play) addPod(pod *corev1.Pod, created Time) *simPod {
	l := &simPod{uid: pod.UID}
	if p.indexed {
		l.index = tracking.Keys{}.IndexOf(pod)
		l.before = p.taken[l.index]
		l.lane = p.lanes.of(l.index)
	} else {
		l.index = p.earlier + int32(p.result.Totals.Pods)
		l.before = int(l.index)
		l.lane = p.lanes.take()
	}
	p.taken[l.index]++
	p.running++
	p.result.Totals.Pods++
	l.at = len(l.lane.Pods)
	l.lane.Pods = append(l.lane.Pods, Pod{Name: pod.Name, Created: created, Outcome: PodUnfinished})
	p.lives[pod.UID] = l
	return l
}

// draw chooses the behaviour of a pod, the first that matches. The n-th pod of an index gets the same random values
// in every Job, so that two Jobs can be compared.
func (p *play) draw(l *simPod) {
	l.random = rand.New(rand.NewPCG(p.scenario.Seed, uint64(l.index)<<32|uint64(l.before)))
	for i, c := range p.scenario.Pods {
		if c.Indexes != "" && !p.indexes[i].Contains(l.index) {
			continue
		}
		if c.Chance == nil || l.random.Float64() < *c.Chance {
			l.behaviour = c
			return
		}
	}
}

// schedule queues a pod, which runs as soon as the cluster has capacity. Nothing removes scheduling gates.
func (p *play) schedule(l *simPod) {
	if len(p.cluster.Pod(l.uid).Spec.SchedulingGates) > 0 {
		return
	}
	p.places.queue = append(p.places.queue, l)
	p.admit()
}

func (p *play) admit() {
	for _, l := range p.places.admitted() {
		p.startSoon(l)
	}
}

// startSoon starts a pod that is on a node, after its start delay.
func (p *play) startSoon(l *simPod) {
	delay := or(l.behaviour.StartDelay, or(p.scenario.StartDelay, defaultDelay))
	p.after(delay, func() {
		if p.isActive(l) {
			p.cluster.Start(l.uid)
			l.pod().Started = new(p.now())
			p.scheduleExit(l, 0)
		}
	})
	p.limit(l, 0)
}

// limit ends a pod that is longer on its node than the deadline in its template, as the kubelet does. It
// has been there for the given time.
func (p *play) limit(l *simPod, since time.Duration) {
	deadline := p.cluster.Pod(l.uid).Spec.ActiveDeadlineSeconds
	if deadline == nil {
		return
	}
	p.after(max(0, ofSeconds(*deadline)-since), func() {
		if p.isActive(l) && !l.lost {
			l.pod().ExitCode = new(int32(terminated))
			p.cluster.End(l.uid, terminated)
		}
	})
}

// scheduleExit schedules the end of the containers of a pod. They start after the delay; if it is negative,
// they have already been running for that time.
func (p *play) scheduleExit(l *simPod, delay time.Duration) {
	if p.assumed != nil {
		p.after(max(0, delay)+p.assumed.left(max(0, -delay)), func() { p.exit(l) })
		return
	}
	duration := nth(l.behaviour.Durations, l.before, metav1.Duration{Duration: defaultDuration}).Duration
	if spread := l.behaviour.Spread.Duration; spread > 0 {
		duration += time.Duration(l.random.Int64N(int64(spread)))
	}
	p.after(max(0, delay+duration), func() { p.exit(l) })
}

// exit ends the containers of a pod, unless the pod has ended or its node is lost.
func (p *play) exit(l *simPod) {
	if !p.isActive(l) || l.lost {
		return
	}
	code := nth(l.behaviour.Exits, l.before, 0)
	inPlace := restartOf(&p.cluster.Pod(l.uid).Spec, code)
	switch {
	case l.behaviour.Evict:
		p.evict(l)
	case inPlace.restarts:
		p.cluster.Restart(l.uid)
		delay := resetDelay
		if !inPlace.all {
			if p.now()-l.restarted > Time(stable) {
				l.crashes = 0
			}
			delay = crashDelayAfter(l.crashes)
			l.crashes, l.restarted = l.crashes+1, p.now()+Time(delay)
		}
		l.pod().Restarts++
		p.result.Totals.Restarts++
		if len(l.pod().Restarted) < mostRestarts {
			l.pod().Restarted = append(l.pod().Restarted, Restart{At: p.now(), ExitCode: code, Rule: inPlace.rule})
		}
		l.before++
		p.taken[l.index] = max(p.taken[l.index], l.before+1)
		p.scheduleExit(l, delay)
	default:
		l.pod().ExitCode = &code
		p.cluster.End(l.uid, code)
	}
}

// inPlace says whether a kubelet restarts the containers of a pod in place.
type inPlace struct {
	restarts bool
	rule     string // the restart rule of a container (KEP-5307); empty if a restart policy decides
	all      bool   // the rule restarts all containers (KEP-5532)
}

// restartOf returns what happens when all containers of a pod exit with a code. The pod continues if one of
// them is restarted.
func restartOf(pod *corev1.PodSpec, code int32) inPlace {
	for i := range pod.Containers {
		if a := restartOfContainer(&pod.Containers[i], pod.RestartPolicy, code); a.restarts {
			return a
		}
	}
	return inPlace{}
}

// restartOfContainer applies the first rule that matches, then the policy of the container, then that of the
// pod.
func restartOfContainer(c *corev1.Container, policy corev1.RestartPolicy, code int32) inPlace {
	if c.RestartPolicy == nil {
		return inPlace{restarts: policy == corev1.RestartPolicyOnFailure && code != 0}
	}
	for i, r := range c.RestartPolicyRules {
		in := r.ExitCodes != nil && r.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn
		if r.ExitCodes != nil && slices.Contains(r.ExitCodes.Values, code) == in {
			return inPlace{restarts: true, rule: fmt.Sprintf("restartPolicyRules[%d] of container %s", i, c.Name),
				all: r.Action == corev1.ContainerRestartRuleActionRestartAllContainers}
		}
	}
	return inPlace{restarts: *c.RestartPolicy == corev1.ContainerRestartPolicyAlways ||
		*c.RestartPolicy == corev1.ContainerRestartPolicyOnFailure && code != 0}
}

// crashDelayAfter returns the delay before a kubelet restarts a container that it has already restarted this many
// times. It restarts it the first time at once: doBackOff in pkg/kubelet/kuberuntime of Kubernetes 1.37.2.
func crashDelayAfter(restarts int) time.Duration {
	if restarts <= 0 {
		return 0
	}
	return min(crashDelay<<min(restarts-1, crashLonger), crashMost)
}

func (p *play) evict(pods ...*simPod) {
	for _, l := range pods {
		p.cluster.Disrupt(l.uid)
		p.cluster.Delete(l.uid, cluster.DefaultGrace)
	}
}

// stopping schedules the end of a deleted pod. On a lost node no kubelet stops it.
func (p *play) stopping(l *simPod, grace int64) {
	delay := min(or(p.scenario.StopDelay, defaultDelay), time.Duration(grace)*time.Second)
	p.after(delay, func() {
		pod := p.cluster.Pod(l.uid)
		switch {
		case pod == nil || cluster.HasEnded(pod) || l.lost:
		case l.pod().Started == nil: // pod garbage collection
			p.cluster.Edit(l.uid, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
		default:
			l.pod().ExitCode = new(int32(terminated))
			p.cluster.End(l.uid, terminated)
		}
	})
}
