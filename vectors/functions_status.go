package vectors

import (
	"encoding/json"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/tracking"
)

// OneJob is the input of readStatus.
type OneJob struct {
	Job *batchv1.Job `json:"job"`
}

// State is the result of readStatus.
type State struct {
	Phase    jobstatus.Phase `json:"phase"`
	Decided  bool            `json:"decided,omitempty"`  // an end is certain
	Terminal bool            `json:"terminal,omitempty"` // the Job has ended
	// Reason, Message and Since are from the condition that decides the outcome.
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	// Expires is when the Job may be deleted; absent: never.
	Expires  time.Time `json:"expires,omitzero"`
	PodsHeld int32     `json:"podsHeld,omitempty"`
	// IndexesFinished is the number of finished indexes or, in a Job that is not Indexed, of
	// succeeded pods.
	IndexesFinished int    `json:"indexesFinished,omitempty"`
	Completed       string `json:"completedIndexes,omitempty"`
	Failed          string `json:"failedIndexes,omitempty"`
	Finished        string `json:"finishedIndexes,omitempty"`
	Unfinished      string `json:"unfinishedIndexes,omitempty"`
}

func readStatus(in OneJob) State {
	o, indexes := jobstatus.OutcomeOf(in.Job), jobstatus.Indexes(in.Job)
	expires, _ := jobstatus.ExpiresAt(in.Job)
	return State{
		Phase: o.Phase, Decided: o.Decided(), Terminal: o.Terminal(), Reason: o.Reason, Message: o.Message,
		Since: inUTC(o.Since), Expires: inUTC(expires),
		PodsHeld: jobstatus.PodsHeld(in.Job), IndexesFinished: jobstatus.IndexesFinished(in.Job),
		Completed: indexes.Completed.String(), Failed: indexes.Failed.String(),
		Finished: indexes.Finished.String(), Unfinished: indexes.Unfinished.String(),
	}
}

// inUTC returns a time in UTC. It keeps the zero time, so that it is absent in JSON.
func inUTC(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}

// TwoStatuses is the input of equalStatus. A status that is absent is nil.
type TwoStatuses struct {
	A *batchv1.JobStatus `json:"a,omitempty"`
	B *batchv1.JobStatus `json:"b,omitempty"`
}

// Same is the result of equalStatus.
type Same struct {
	Equal bool `json:"equal"`
}

func equalStatus(in TwoStatuses) Same { return Same{jobstatus.Equal(in.A, in.B)} }

// StatusOf is the input of statusPatch.
type StatusOf struct {
	UID             types.UID          `json:"uid"`
	ResourceVersion string             `json:"resourceVersion"`
	Status          *batchv1.JobStatus `json:"status,omitempty"`
}

// Patched is the result of statusPatch: a JSON merge patch.
type Patched struct {
	Patch json.RawMessage `json:"patch,omitempty"`
}

func statusPatch(in StatusOf) Patched {
	return Patched{patchOf(jobstatus.Patch(in.UID, in.ResourceVersion, in.Status))}
}

// JobAndPods is the input of demand, count, enterTracking and leaveTracking.
type JobAndPods struct {
	Job  *batchv1.Job  `json:"job"`
	Pods []*corev1.Pod `json:"pods,omitempty"`
}

// Demand is the result of demand: bounds of the number of pods that can still run.
type Demand struct {
	AtOnce  Bounds `json:"atOnce"`
	InTotal Bounds `json:"inTotal"`
}

// Bounds holds the bounds of a number. Without an upper bound the field is absent.
type Bounds struct {
	Least int64  `json:"least"`
	Most  *int64 `json:"most,omitempty"`
}

func demand(in JobAndPods) Demand {
	d := jobstatus.DemandOf(in.Job)
	if in.Pods != nil { // absent pods are unknown
		d = jobstatus.DemandWithPods(in.Job, in.Pods, tracking.Keys{})
	}
	out := Demand{Bounds{d.AtOnce.Least, &d.AtOnce.Most}, Bounds{d.InTotal.Least, &d.InTotal.Most}}
	if d.Unbounded {
		out.InTotal.Most = nil
	}
	return out
}
