package explain

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Cause says why a Job makes no progress, or that it does.
type Cause struct {
	// Reason has the text as one sentence, with the number of pods affected.
	Reason
	// Advice says what to do; empty if there is nothing to do.
	Advice string
	// Pods are the names of the pods affected, in the order of index and UID.
	Pods []string
	// Attention says what kind of attention the Job needs.
	Attention Attention
}

// Attention is the kind of attention that a Job needs.
type Attention uint8

const (
	// AttentionNone means that the Job runs well, or has succeeded.
	AttentionNone Attention = iota
	// AttentionWait means that the next pod is created after a delay, or when a pod ends.
	AttentionWait
	// AttentionHeld means that the Job is on hold until a user or a controller lets it continue.
	AttentionHeld
	// AttentionLost means that the Job cannot succeed.
	AttentionLost
	// AttentionStuck means that an overdue step has not happened, and will not happen unless a user
	// acts.
	AttentionStuck
)

var attentions = [...]string{"None", "Wait", "Held", "Lost", "Stuck"}

// String returns the name of the kind of attention.
func (a Attention) String() string { return attentions[min(int(a), len(attentions)-1)] }

// Cause returns the cause with the highest rank, the one to read first. Causes in the pods
// and in the evidence rank before the reason for the decision. The zero Explanation has no
// cause.
//
// Cause is for a snapshot seen from outside. A controller in the middle of its writes
// should use Job.
func (e Explanation) Cause() Cause {
	for c := range e.causes {
		return c
	}
	return Cause{}
}

// Causes returns all causes in the order of their rank. The reason that [Explanation.Job]
// returns is among them.
func (e Explanation) Causes() []Cause {
	var all []Cause
	for c := range e.causes {
		all = append(all, c)
	}
	return all
}

func (e Explanation) causes(yield func(Cause) bool) {
	if e.about.Outcome == nil {
		return
	}
	f := newFacts(e)
	lost := e.lost()
	for _, r := range causes {
		c, found := r.of(f)
		if !found {
			continue
		}
		if lost && c.Attention < AttentionLost {
			c.Attention = AttentionLost
		}
		if !yield(c) {
			return
		}
	}
}

func (e Explanation) lost() bool {
	code := e.Prospect().Code
	return code == ProspectFailure || code == ProspectOutOfReach
}

// Unmanaged explains a Job that another controller manages, for which
// [jobfate.Decide] returns [jobfate.ErrNotManaged]. A nil Job has no cause.
func Unmanaged(job *batchv1.Job) Cause {
	if job == nil {
		return Cause{}
	}
	f := &facts{job: job}
	for _, r := range causes {
		if c, found := r.of(f); found {
			return c
		}
	}
	return Cause{}
}

// Evidence is additional information besides the snapshot. All of it is optional. Objects
// that do not concern the Job are ignored.
type Evidence struct {
	// Events of the Job and of its pods show why a pod is not created or does not start.
	Events []*corev1.Event
	// Nodes show why a pod does not run or does not terminate.
	Nodes []*corev1.Node
}

// row is a cause to look for.
type row struct {
	code      Code
	attention Attention
	// advice is what to do.
	advice string
	// find looks for a cause that concerns the whole Job. A finding without a text means
	// that the Job does not have the cause.
	find func(*facts) finding
	// pod looks for a cause that concerns single pods. It reports whether an active pod
	// has the cause, and returns the message for it. cannot completes the sentence
	// "3 of 5 active pods …".
	pod    func(*facts, *corev1.Pod) (message string, has bool)
	cannot string
}

// finding is the result of a search for a cause; empty if the Job does not have it.
type finding struct {
	text  string
	until time.Time
	pods  []*corev1.Pod
}

// of returns the cause of the row, and whether the Job has it.
func (r row) of(f *facts) (Cause, bool) {
	var found finding
	if r.find != nil {
		found = r.find(f)
	} else {
		found = f.stuck[r.code].finding(r.cannot, f)
	}
	if found.text == "" {
		return Cause{}, false
	}
	c := Cause{Reason: Reason{Code: r.code, Until: found.until, Text: found.text}, Advice: r.advice, Attention: r.attention}
	for _, pod := range found.pods {
		c.Pods = append(c.Pods, pod.Name)
	}
	return c, true
}
