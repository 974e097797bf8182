package simulation

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// Result is the result of a simulation. All times are relative to the creation of the Job or, for an
// existing Job, to the start of the simulation.
type Result struct {
	// Assumed says what was assumed without a scenario; empty if there is one, or if the Job is new.
	Assumed string `json:"assumed,omitempty"`
	// End says how the simulation ended, and Took when. For a stalled simulation Took is
	// the time of the last change.
	End  End  `json:"end"`
	Took Time `json:"took"`
	// Reason and Message are those of the condition with which the Job ended.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Totals  Totals `json:"totals"`
	// Lanes has a lane for each index that had a pod or a wait, in the order of the
	// indexes. In a Job that is not Indexed a lane holds one pod at a time.
	Lanes []Lane `json:"lanes"`
	// Waits lists the times in which the whole Job was backing off.
	Waits []Wait `json:"waits"`
	// Conditions lists the changes of conditions, in the order of time.
	Conditions []Condition `json:"conditions"`
	// Happened lists the events of the scenario that happened, and their effects.
	Happened []Happening `json:"events"`
	// WaitsFor says what the Job was waiting for when the simulation stalled.
	WaitsFor string `json:"waitsFor,omitempty"`
	// Completions is the number of completions of the spec at the end; 0 if there are none.
	Completions int32 `json:"-"`
	// Status is the last status.
	Status batchv1.JobStatus `json:"status"`
}

// End is how a simulation ends.
type End string

// The ends.
const (
	// Complete and Failed: the Job has ended with this condition, and its pods have ended.
	Complete End = "Complete"
	Failed   End = "Failed"
	// Stalled: the Job has not ended, and nothing more will happen.
	Stalled End = "Stalled"
	// OutOfTime: the limit of the scenario was reached.
	OutOfTime End = "OutOfTime"
	// Interrupted: the caller interrupted the simulation.
	Interrupted End = "Interrupted"
)

// Totals are numbers of pods and syncs, and the total run time.
type Totals struct {
	// Pods is the number of pods that were created; the next four count their outcomes.
	Pods      int `json:"pods"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	Evicted   int `json:"evicted"`
	Deleted   int `json:"deleted"`
	// Restarts is the number of restarts of pods in place.
	Restarts int `json:"restarts"`
	// Running is the total time that pods have run.
	Running Time `json:"podSeconds"`
	// Syncs is the number of syncs of the controller.
	Syncs int `json:"syncs"`
}

// Lane is the history of an index.
type Lane struct {
	Index int32  `json:"index"`
	Pods  []Pod  `json:"pods"`
	Waits []Wait `json:"waits"`
}

// Outcome is the outcome of a pod.
type Outcome string

// The outcomes. An evicted pod failed because of a disruption. A deleted pod was stopped without a
// disruption, for example by the controller. An unfinished pod has not ended.
const (
	PodSucceeded  Outcome = "Succeeded"
	PodFailed     Outcome = "Failed"
	PodEvicted    Outcome = "Evicted"
	PodDeleted    Outcome = "Deleted"
	PodUnfinished Outcome = "Unfinished"
)

// Pod is a pod with its times. Started is nil if the pod never ran.
type Pod struct {
	Name    string `json:"name"`
	Created Time   `json:"created"`
	Started *Time  `json:"started,omitempty"`
	// Terminating is when the pod was deleted, if it had not ended by then.
	Terminating *Time `json:"terminating,omitempty"`
	// Lost is when the node of the pod was lost.
	Lost     *Time   `json:"lost,omitempty"`
	Ended    *Time   `json:"ended,omitempty"`
	Outcome  Outcome `json:"outcome"`
	ExitCode *int32  `json:"exitCode,omitempty"`
	Restarts int     `json:"restarts,omitempty"`
	// Restarted lists the first 100 restarts of the containers in place; absent if there are none.
	Restarted []Restart `json:"restarted,omitempty"`
	// Rule and Action describe the rule that the failed pod matched.
	Rule   string `json:"rule,omitempty"`
	Action string `json:"action,omitempty"`
}

// mostRestarts is how many restarts of a pod are listed. They may be endless.
const mostRestarts = 100

// Restart is a restart of the containers of a pod in place.
type Restart struct {
	At       Time  `json:"at"`
	ExitCode int32 `json:"exitCode"`
	// Rule is the restart rule; empty if a restart policy decides.
	Rule string `json:"rule,omitempty"`
}

// Ran returns how long the pod ran; until is used if it has not ended. A pod stops running when
// its node is lost.
func (p Pod) Ran(until Time) Time {
	if p.Started == nil {
		return 0
	}
	return *cmp.Or(p.Lost, p.Ended, &until) - *p.Started
}

// Wait is a time in which the Job or an index backs off.
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

// Happening is an event of the scenario, or an effect of one, as text.
type Happening struct {
	At   Time   `json:"at"`
	Text string `json:"text"`
}

// Status is a status write: the new status and the old one.
type Status struct {
	At       Time
	Old, New *batchv1.JobStatus
}

// Time is a time since the start of the simulation. Its JSON is a number of seconds.
type Time time.Duration

// String returns the time in the format of a duration, rounded to milliseconds.
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
