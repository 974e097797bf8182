package decide

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/tracking"
)

// Input is everything that a decision depends on, besides the [Config].
type Input struct {
	Job      *batchv1.Job
	Pods     []*corev1.Pod
	Now      time.Time
	InFlight InFlight
	// Backoff may lack failures unless it names the Job.
	Backoff    backoff.Record
	LastStatus time.Time
}

// InFlight lists the writes that the API server has acknowledged and that Job and Pods do
// not show yet.
type InFlight struct {
	Status    bool
	Creations int
	Deletions int
	Stripped  []types.UID
	// Pods lists the pods of these creations and deletions, as far as they are known. The status
	// counts a created pod as active and a deleted one as terminating.
	Pods []PodInFlight
}

// PodInFlight is a pod that was created or deleted.
type PodInFlight struct {
	UID     types.UID
	Deleted bool
}

// Config holds the options of the caller. DefaultConfig has the defaults of Kubernetes
// 1.37.
type Config struct {
	Controller   tracking.Controller // an empty kind is an error
	Backoff      backoff.Policy
	UncountedCap int
	ChangesCap   int
	RemovalsCap  int // 0: no cap
	BatchPeriod  time.Duration
	Throttle     tracking.Throttle
	tracking.Options
	Granular      bool
	FillFreeSlots bool
	// Names returns a pod name that begins with the prefix. If Names is nil, the API
	// server generates the names.
	Names func(prefix string) string
}

// DefaultConfig returns the settings of the Job controller.
func DefaultConfig() Config {
	return Config{
		Controller:   tracking.Controller{Kind: batchv1.SchemeGroupVersion.WithKind("Job")},
		UncountedCap: tracking.DefaultCap, ChangesCap: 500, BatchPeriod: time.Second,
	}
}

// valueOf returns what a pointer points to, or the other value for nil.
func valueOf[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
