package decide

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/tracking"
)

// Input is all that a decision depends on, beside the [Config].
type Input struct {
	Job            *batchv1.Job
	Pods           []*corev1.Pod
	Now            time.Time
	InFlight       InFlight
	Backoff        backoff.Record
	BackoffInDoubt bool
	LastStatus     time.Time
}

// InFlight names the writes that have been acknowledged and that Job and Pods do not
// show yet.
type InFlight struct {
	Job       types.UID
	Status    bool
	Creations int
	Deletions int
	Stripped  []types.UID
}

// pods reports whether a creation or a deletion is unobserved.
func (f *InFlight) pods() bool { return f.Creations > 0 || f.Deletions > 0 }

// Config is what the caller has chosen. DefaultConfig is Kubernetes 1.36.3.
type Config struct {
	Controller   tracking.Controller
	NoKind       bool // a kind was asked for, and none was named
	Backoff      backoff.Policy
	UncountedCap int
	ChangesCap   int
	RemovalsCap  int // 0: none
	BatchPeriod  time.Duration
	Throttle     tracking.Throttle
	// FailurePolicy takes the place of the Job's own; RuleNames name the Job's own.
	FailurePolicy      *failurepolicy.Spec
	WithoutPolicy      bool // the Job's own has no effect
	RuleNames          []string
	Granular           bool
	WithoutPerIndex    bool
	WithoutReplacement bool
	FillFreeSlots      bool
	// Names makes up the name of a pod from the beginning that is given; nil leaves
	// that to the API server.
	Names func(prefix string) string
}

// DefaultConfig returns the settings of the Job controller.
func DefaultConfig() Config {
	return Config{UncountedCap: census.DefaultCap, ChangesCap: 500, BatchPeriod: time.Second}
}
