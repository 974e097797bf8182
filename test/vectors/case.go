package vectors

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Case is one line of a file.
type Case struct {
	ID       string   `json:"id"`
	Features []string `json:"features"`
	Snapshot Snapshot `json:"snapshot"`
	Options  Options  `json:"options,omitzero"`
	Faults   Faults   `json:"faults,omitzero"`
	// Refused is the invalid field for which jobfate rejects the snapshot. The case then has
	// no outcomes.
	Refused     string   `json:"refused,omitempty"`
	Jobfate     *Outcome `json:"jobfate,omitempty"`
	Kubernetes  *Outcome `json:"kubernetes,omitempty"` // absent if it equals that of jobfate
	Divergences []string `json:"divergences,omitempty"`
}

// Snapshot is the input of a decision.
type Snapshot struct {
	Now     time.Time     `json:"now"`
	Job     *batchv1.Job  `json:"job"`
	Pods    []*corev1.Pod `json:"pods,omitempty"`
	Pending Pending       `json:"pending,omitzero"`
	Backoff Backoff       `json:"backoff,omitzero"`
	// LastStatus is the time of the last status write; only Throttle uses it.
	LastStatus time.Time `json:"lastStatus,omitzero"`
}

// Pending holds acknowledged writes that are not observed yet.
type Pending struct {
	Status    bool        `json:"status,omitempty"`
	Creations int         `json:"creations,omitempty"`
	Deletions int         `json:"deletions,omitempty"`
	Stripped  []types.UID `json:"stripped,omitempty"`
}

// Backoff is the backoff record of a controller.
type Backoff struct {
	Failures    int32      `json:"failures,omitempty"`
	LastFailure *time.Time `json:"lastFailure,omitempty"`
	// InDoubt says that the record may lack failures. Only jobfate uses it.
	InDoubt bool `json:"inDoubt,omitempty"`
}

// Options holds the options of the controller; absent fields have their defaults.
type Options struct {
	MaxUncounted       int   `json:"maxUncounted,omitempty"`
	MaxChanges         int   `json:"maxChanges,omitempty"`
	BackoffBaseMs      int64 `json:"backoffBaseMs,omitempty"`
	BackoffCapMs       int64 `json:"backoffCapMs,omitempty"`
	BatchPeriodMs      int64 `json:"batchPeriodMs,omitempty"`
	WithoutPerIndex    bool  `json:"withoutPerIndex,omitempty"`
	WithoutReplacement bool  `json:"withoutReplacement,omitempty"`
	// Kubernetes has no counterpart of the following options.
	FillFreeSlots        bool     `json:"fillFreeSlots,omitempty"`
	GranularReasons      bool     `json:"granularReasons,omitempty"`
	RuleNames            []string `json:"ruleNames,omitempty"`
	WithoutFailurePolicy bool     `json:"withoutFailurePolicy,omitempty"`
	MaxRemovals          int      `json:"maxRemovals,omitempty"`
	Throttle             Throttle `json:"throttle,omitzero"`
}

// Throttle delays status writes.
type Throttle struct {
	EveryMs int64   `json:"everyMs,omitempty"`
	Share   float64 `json:"share,omitempty"`
}

// Faults lists the writes that fail, and how: Internal, Conflict or NotFound. Creations and status
// writes are identified by their number, and other writes by the name of the pod.
type Faults struct {
	Get     string            `json:"get,omitempty"` // the live read of the Job before an adoption
	Adopt   map[string]string `json:"adopt,omitempty"`
	Release map[string]string `json:"release,omitempty"`
	Untrack map[string]string `json:"untrack,omitempty"`
	Delete  map[string]string `json:"delete,omitempty"`
	Create  map[int]string    `json:"create,omitempty"`
	Status  map[int]string    `json:"status,omitempty"`
	Strip   map[string]string `json:"strip,omitempty"`
}

// The ways in which a write may fail.
const (
	Internal = "internal"
	Conflict = "conflict"
	NotFound = "notFound" // the object no longer exists
)

// Outcome is what a sync does.
type Outcome struct {
	Writes  []Write          `json:"writes,omitempty"`
	Requeue int64            `json:"requeueMs,omitempty"`
	Backoff Backoff          `json:"backoff,omitzero"`
	Events  []Event          `json:"events,omitempty"`
	Metrics map[string]int64 `json:"metrics,omitempty"`
	Action  string           `json:"action,omitempty"`
	// Finished says that the terminal condition of the Job was written.
	Finished bool `json:"finished,omitempty"`
	// Left is the work that the caps leave for the next sync. Kubernetes does not report it.
	Left Left `json:"left,omitzero"`
}

// Left holds numbers of pods: to create, surplus to delete, and to count or free of their finalizer.
type Left struct {
	Create int32 `json:"create,omitempty"`
	Delete int32 `json:"delete,omitempty"`
	Strip  int32 `json:"strip,omitempty"`
}

// Event is an event for users.
type Event struct {
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
}
