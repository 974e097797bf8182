package simulation

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/cmd/diagnose"
	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

// assumption is the assumed behaviour of an existing Job without a scenario.
type assumption struct {
	duration time.Duration           // how long a pod runs
	from     string                  // what the duration comes from
	outlived bool                    // a pod has run longer
	stuck    map[string]explain.Code // the pods that stay as they are, and why
	refusal  explain.Code            // why the API server refuses pods; empty if it does not
	most     int                     // with a refusal, the number of pods that it allows
	capped   bool                    // only pods that are on a node now, or take their place, run
}

// assume derives from the pods of an existing Job what its pods will do. A pod that explain calls
// stuck stays as it is. The others run as long as those that have succeeded.
func assume(job *batchv1.Job, s Settings) (*assumption, error) {
	d, err := decide.Job(decide.Snapshot{Job: job, Pods: s.Live.Pods, Now: s.Live.Now}, s.Options...)
	if err != nil {
		return nil, err
	}
	pods, err := PodsOf(job, s.Live.Pods)
	if err != nil {
		return nil, err
	}
	a := &assumption{stuck: map[string]explain.Code{}}
	for _, cause := range diagnose.Of(d, s.Live.Evidence).Causes() {
		if cause.Attention != diagnose.AttentionStuck && cause.Code != "TerminationOverdue" {
			continue
		}
		switch cause.Code {
		case "QuotaExceeded": // the Job keeps its share
			a.refusal, a.most = cause.Code, len(slices.DeleteFunc(slices.Clone(pods), cluster.HasEnded))
		case "WebhookRefused", "CreationRefused":
			a.refusal = cause.Code
		case "Unschedulable":
			a.capped = true
		}
		for _, name := range cause.Pods {
			a.stuck[name] = cmp.Or(a.stuck[name], cause.Code)
		}
	}
	a.measure(pods, s.Live.Now)
	return a, nil
}

// measure finds out how long pods run.
func (a *assumption) measure(pods []*corev1.Pod, now time.Time) {
	var took []time.Duration  // by pods that have succeeded
	var longest time.Duration // that a pod has run so far
	for _, pod := range pods {
		since, ran := runningSince(pod)
		switch {
		case !ran || a.stuck[pod.Name] != "":
		case pod.Status.Phase == corev1.PodSucceeded:
			took = append(took, backoff.FinishTime(pod).Sub(since))
		case cluster.IsActive(pod):
			longest = max(longest, now.Sub(since))
		}
	}
	slices.Sort(took)
	switch n := len(took); {
	case n == 0 && longest <= defaultDuration:
		a.duration = defaultDuration
	case n == 0:
		a.duration, a.from = longest, ", as long as the oldest so far,"
	case n == 1:
		a.duration, a.from = max(0, took[0]), ", like the pod that has succeeded,"
	default:
		a.duration, a.from = max(0, took[(n-1)/2]), fmt.Sprintf(", the median of the %d that have succeeded,", n)
	}
	a.outlived = longest > 0 && longest >= a.duration
}

// left returns how much longer a pod runs that has run for some time. A pod that has run longer
// than the others gets the default, because its end is unknown.
func (a *assumption) left(ran time.Duration) time.Duration {
	if ran > 0 && ran >= a.duration {
		return defaultDuration
	}
	return a.duration - ran
}

// String says what is assumed, in one line.
func (a *assumption) String() string {
	parts := []string{fmt.Sprintf("Assumed without a scenario: each pod runs %s%s and succeeds",
		Time(a.duration), a.from)}
	if a.outlived {
		parts = append(parts, fmt.Sprintf("a pod that has run as long ends in %s", Time(defaultDuration)))
	}
	if len(a.stuck) > 0 {
		parts = append(parts, "stuck pods stay as they are: "+a.stuckBy())
	}
	if a.capped {
		parts = append(parts, "no further pod gets a node before one ends")
	}
	switch {
	case a.refusal != "" && a.most == 0:
		parts = append(parts, fmt.Sprintf("no pod is created: %s", a.refusal))
	case a.refusal != "":
		parts = append(parts, fmt.Sprintf("no more than %d pods at a time: %s", a.most, a.refusal))
	}
	return strings.Join(parts, "; ") + "."
}

// stuckBy counts the stuck pods by what is wrong with them.
func (a *assumption) stuckBy() string {
	numbers := map[explain.Code]int{}
	for _, code := range a.stuck {
		numbers[code]++
	}
	var codes []string
	for code, n := range numbers {
		codes = append(codes, fmt.Sprintf("%s (%d)", code, n))
	}
	slices.Sort(codes)
	return strings.Join(codes, ", ")
}

// assumedWait returns why nothing more happens, if that is assumed; otherwise it is empty.
func (p *play) assumedWait() string {
	switch {
	case p.refused:
		return fmt.Sprintf("the API server refuses its pods (%s)", p.assumed.refusal)
	case p.assumed != nil && len(p.assumed.stuck) > 0:
		return "stuck pods: " + p.assumed.stuckBy()
	}
	return ""
}

// errRefused is the answer to the creation of a pod that is assumed to be refused.
var errRefused = errors.New("the API server refuses the pod")

// refuse is called for each request of the controller.
func (p *play) refuse(r *cluster.Request) (f cluster.Fault) {
	if r.Verb == cluster.Create && p.running >= p.assumed.most {
		f.Err = errRefused
		p.refused = true
	}
	return f
}
