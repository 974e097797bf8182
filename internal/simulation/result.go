package simulation

import (
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// Result is what became of a Job. All times are counted from its creation, or
// from the time at which the simulation went on from a Job that existed.
type Result struct {
	// End says how the simulation ended, at the time Took; one that has stalled,
	// when the last thing happened.
	End  End  `json:"end"`
	Took Time `json:"took"`
	// Reason and Message are those of the condition with which the Job ended.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Totals  Totals `json:"totals"`
	// Lanes are one for each index that had a pod or a wait, in their order. In a
	// Job that is not Indexed a lane is a place for one pod at a time.
	Lanes []Lane `json:"lanes"`
	// Waits are the times in which the Job as a whole is backing off.
	Waits []Wait `json:"waits"`
	// Conditions are the changes of conditions, in their order.
	Conditions []Condition `json:"conditions"`
	// Happened are the events of the scenario that came about.
	Happened []Happening `json:"events"`
	// WaitsFor says how the Job stood when it had stalled.
	WaitsFor string `json:"waitsFor,omitempty"`
	// Completions are those of the spec in the end; 0 without.
	Completions int32 `json:"-"`
	// Status is the last status.
	Status batchv1.JobStatus `json:"status"`
}

// End is how a simulation ends.
type End string

// The ends.
const (
	// Complete and Failed: the Job has ended so, and its pods as well.
	Complete End = "Complete"
	Failed   End = "Failed"
	// Stalled: nothing happens any more, and the Job has not ended.
	Stalled End = "Stalled"
	// OutOfTime: the limit of the scenario was reached.
	OutOfTime End = "OutOfTime"
	// Interrupted: the caller interrupted it.
	Interrupted End = "Interrupted"
)

// Totals are what a Job has cost.
type Totals struct {
	// Pods is the number of pods created; the others say what became of them.
	Pods      int `json:"pods"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	Evicted   int `json:"evicted"`
	Deleted   int `json:"deleted"`
	// Running is the time that pods have run, all together.
	Running Time `json:"podSeconds"`
	// Syncs is how often the controller looked.
	Syncs int `json:"syncs"`
}

// Lane is what becomes of an index.
type Lane struct {
	Index int32  `json:"index"`
	Pods  []Pod  `json:"pods"`
	Waits []Wait `json:"waits"`
}

// Outcome is what became of a pod.
type Outcome string

// The outcomes. An evicted pod has failed, for a disruption; a deleted one was
// stopped by the controller. Unfinished is one that is there at the end.
const (
	PodSucceeded  Outcome = "Succeeded"
	PodFailed     Outcome = "Failed"
	PodEvicted    Outcome = "Evicted"
	PodDeleted    Outcome = "Deleted"
	PodUnfinished Outcome = "Unfinished"
)

// Pod is a pod and its times. One that never ran has no Started.
type Pod struct {
	Name    string `json:"name"`
	Created Time   `json:"created"`
	Started *Time  `json:"started,omitempty"`
	// Terminating is when it was deleted, if it had not ended.
	Terminating *Time `json:"terminating,omitempty"`
	// Lost is when its node was lost.
	Lost     *Time   `json:"lost,omitempty"`
	Ended    *Time   `json:"ended,omitempty"`
	Outcome  Outcome `json:"outcome"`
	ExitCode *int32  `json:"exitCode,omitempty"`
	Restarts int     `json:"restarts,omitempty"`
	// Rule and Action are those that the failed pod matched.
	Rule   string `json:"rule,omitempty"`
	Action string `json:"action,omitempty"`
}

// Ran returns how long the pod has run, until a time when it has not ended. On a
// lost node it does not run any more.
func (p Pod) Ran(until Time) Time {
	switch {
	case p.Started == nil:
		return 0
	case p.Ended != nil:
		until = *p.Ended
	}
	if p.Lost != nil {
		until = *p.Lost
	}
	return until - *p.Started
}

// Wait is a time of backing off.
type Wait struct {
	From  Time `json:"from"`
	Until Time `json:"until"`
}

// Condition is a change of a condition.
type Condition struct {
	At      Time   `json:"at"`
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Happening is an event of the scenario, in words.
type Happening struct {
	At   Time   `json:"at"`
	Text string `json:"text"`
}

// Status is a status and the one before it.
type Status struct {
	At       Time
	Old, New *batchv1.JobStatus
}

// Time is a time from the start of the simulation. Its JSON is a number of seconds.
type Time time.Duration

// String returns the time as a duration is written, to the millisecond.
func (t Time) String() string {
	text := time.Duration(t).Round(time.Millisecond).String()
	if strings.HasSuffix(text, "m0s") {
		text = text[:len(text)-2]
	}
	if strings.HasSuffix(text, "h0m") {
		text = text[:len(text)-2]
	}
	return text
}

// Seconds returns the time in seconds.
func (t Time) Seconds() float64 { return time.Duration(t).Seconds() }

// MarshalJSON returns the seconds.
func (t Time) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, t.Seconds(), 'f', -1, 64), nil
}
