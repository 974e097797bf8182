package simulation

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

// checkTargets returns an error for an event that names an index that the Job does not have at
// that time.
func (p *play) checkTargets(spec *batchv1.JobSpec) error {
	if !p.indexed {
		return nil // the number of its pods is not known yet
	}
	order := make([]int, len(p.scenario.Events))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return int(p.scenario.Events[a].At.Duration - p.scenario.Events[b].At.Duration)
	})
	completions := *spec.Completions
	for _, i := range order {
		e := p.scenario.Events[i]
		if e.Completions != nil {
			completions = *e.Completions
		}
		for _, t := range e.targets() {
			set, _ := t.indexes.set() // Check has validated it
			if last, some := set.Max(); some && t.indexes != all && last >= completions {
				return fmt.Errorf("events[%d].%s: the Job has no index %d; its completions are %d", i, t.field,
					last, completions)
			}
		}
	}
	return nil
}

// happen applies an event of the scenario. The error begins with the field.
func (p *play) happen(e Event) error {
	if err := p.editJob(e); err != nil {
		return err
	}
	if e.Capacity != nil {
		p.places.most = e.Capacity
		p.addEvent("capacity is set to %d", *e.Capacity)
		p.admit()
	}
	for _, t := range e.targets() {
		if t.indexes == "" {
			continue
		}
		a := actions[t.field]
		pods, err := p.podsOf(t.indexes, a.concerns)
		if err != nil {
			return fmt.Errorf(".%s: %w", t.field, err)
		}
		if len(pods) == 0 {
			p.addEvent("%s %s: %s", t.field, t.indexes, a.none)
			continue
		}
		p.addEvent("%s", p.phrase(pods, a.one, a.many))
		a.do(p, pods)
	}
	return nil
}

// actions holds the effects of events on pods.
var actions = map[string]struct {
	concerns  func(*play, *simPod) bool
	one, many string // the text about one pod, and about many
	none      string // the text if there are no such pods
	do        func(*play, []*simPod)
}{
	"lose": {(*play).isRunning, "the node of %s is lost", "the nodes of %s are lost", "no such pod runs", (*play).lose},
	"evict": {(*play).isOnNode, "%s is evicted", "%s are evicted", "no such pod is active on a node",
		func(p *play, pods []*simPod) { p.evict(pods...) }},
	"removeNodes": {(*play).isLost, "the node of %s is removed", "the nodes of %s are removed",
		"no such pod is on a lost node", (*play).removeNodes},
	"forceDelete": {(*play).isUnfinished, "%s is deleted by force", "%s are deleted by force",
		"all such pods have ended", func(p *play, pods []*simPod) {
			for _, l := range pods {
				p.cluster.Delete(l.uid, 0)
			}
		}},
}

func (p *play) isUnfinished(l *simPod) bool { return !l.gone }
func (p *play) isLost(l *simPod) bool       { return !l.gone && l.lost }

func (p *play) isActive(l *simPod) bool {
	pod := p.cluster.Pod(l.uid)
	return pod != nil && cluster.IsActive(pod)
}

// isOnNode reports whether an active pod is on a node. A drain does not concern the other pods.
func (p *play) isOnNode(l *simPod) bool { return l.placed && p.isActive(l) }

func (p *play) isRunning(l *simPod) bool { return !l.gone && !l.lost && l.pod().Started != nil }

// podsOf returns the pods of the indexes for which concerns reports true, in the order of
// their creation.
func (p *play) podsOf(indexes Indexes, concerns func(*play, *simPod) bool) (out []*simPod, err error) {
	set, _ := indexes.set() // Check has validated it
	if last, some := set.Max(); some && !p.indexed && indexes != all &&
		int(last) >= int(p.earlier)+p.result.Totals.Pods {
		return nil, fmt.Errorf("there is no pod %d at %s; %d have been created, numbered from 0",
			last, p.now(), int(p.earlier)+p.result.Totals.Pods)
	}
	for _, pod := range p.cluster.Pods() {
		if l := p.lives[pod.UID]; l != nil && set.Contains(l.index) && concerns(p, l) {
			out = append(out, l)
		}
	}
	p.steps += len(p.lives)
	return out, nil
}

// editJob sets the fields of the spec that an event names.
func (p *play) editJob(e Event) error {
	if e.Suspend == nil && e.Parallelism == nil && e.Completions == nil {
		return nil
	}
	err := p.cluster.EditJob(func(spec *batchv1.JobSpec) {
		set(p, &spec.Suspend, e.Suspend, "suspend")
		set(p, &spec.Parallelism, e.Parallelism, "parallelism")
		set(p, &spec.Completions, e.Completions, "completions")
	})
	if err == nil {
		job := p.cluster.Job()
		err = p.Bounds.checkPods(&job.Spec, job.Status.Succeeded)
	}
	if err != nil {
		return fmt.Errorf(": %w", err)
	}
	return nil
}

// set sets a field of the spec if the event has a value for it.
func set[T any](p *play, field **T, value *T, name string) {
	if value != nil {
		*field = new(*value)
		p.addEvent("%s is set to %v", name, *value)
	}
}

// addEvent adds an event to the result.
func (p *play) addEvent(format string, args ...any) {
	p.result.Happened = append(p.result.Happened, Happening{p.now(), fmt.Sprintf(format, args...)})
}

// mostNames is the maximum number of pods that a line names.
const mostNames = 3

// phrase returns the text about one pod, or about many.
func (p *play) phrase(pods []*simPod, one, many string) string {
	if len(pods) == 1 {
		return fmt.Sprintf(one, "pod "+pods[0].pod().Name)
	}
	var which string
	if p.indexed {
		var b indexset.Builder
		for _, l := range pods {
			b.Add(l.index)
		}
		which = "indexes " + b.Set().String()
	} else {
		var names []string
		for _, l := range pods[:min(mostNames, len(pods))] {
			names = append(names, l.pod().Name)
		}
		which = strings.Join(names, ", ")
		if more := len(pods) - mostNames; more > 0 {
			which += fmt.Sprintf(" and %d more", more)
		}
	}
	return fmt.Sprintf(many, fmt.Sprintf("%d pods (%s)", len(pods), which))
}
