package vectors

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/tracking"
)

// Delays holds the settings of delays, in nanoseconds; absent settings have their defaults.
type Delays struct {
	Base   int64   `json:"base,omitempty"`
	Cap    int64   `json:"cap,omitempty"`
	Factor float64 `json:"factor,omitempty"`
}

func (d Delays) policy() backoff.Policy {
	return backoff.Policy{Base: time.Duration(d.Base), Cap: time.Duration(d.Cap), Factor: d.Factor}
}

// Nanoseconds is the result of delay and wait.
type Nanoseconds struct {
	Nanoseconds int64 `json:"nanoseconds"`
}

// Delay is the input of delay.
type Delay struct {
	Delays
	Failures int32 `json:"failures"`
}

func delay(in Delay) Nanoseconds { return Nanoseconds{in.policy().Delay(in.Failures).Nanoseconds()} }

// Wait is the input of wait.
type Wait struct {
	Delay
	Last time.Time `json:"last"`
	Now  time.Time `json:"now"`
}

func wait(in Wait) Nanoseconds {
	return Nanoseconds{in.policy().Remaining(in.Failures, in.Last, in.Now).Nanoseconds()}
}

// Finished is the input of record.
type Finished struct {
	Record    Backoff     `json:"record,omitzero"`
	Succeeded []time.Time `json:"succeeded,omitempty"`
	Failed    []time.Time `json:"failed,omitempty"`
}

func record(in Finished) Backoff { return BackoffOf(in.Record.record().With(in.Succeeded, in.Failed)) }

// OnePod is the input of finishTime.
type OnePod struct {
	Pod *corev1.Pod `json:"pod"`
}

// Time is the result of finishTime; absent if the pod has not finished, or has no times.
type Time struct {
	Time time.Time `json:"time,omitzero"`
}

func finishTime(in OnePod) Time { return Time{backoff.FinishTime(in.Pod).UTC()} }

// Restarts is the input of restarts.
type Restarts struct {
	BackoffLimit int32         `json:"backoffLimit"`
	Pods         []*corev1.Pod `json:"pods,omitempty"`
}

// Exceeded is the result of restarts.
type Exceeded struct {
	Exceeded bool `json:"exceeded"`
}

func restarts(in Restarts) Exceeded {
	var sum int64
	for _, pod := range in.Pods {
		sum += backoff.Restarts(pod)
	}
	return Exceeded{backoff.LimitOf(&batchv1.JobSpec{BackoffLimit: &in.BackoffLimit}).RestartsExceeded(sum)}
}

// FailedPod is the input of indexFailures.
type FailedPod struct {
	Annotations map[string]string `json:"annotations,omitempty"`
	// Ignored says that an Ignore rule matches the pod.
	Ignored bool `json:"ignored,omitempty"`
}

// Counts holds the result of indexFailures: the counts of the next pod of the index.
type Counts struct {
	Failures int32 `json:"failures"`
	Ignored  int32 `json:"ignored"`
}

func indexFailures(in FailedPod) Counts {
	return Counts(tracking.Keys{}.CountsOf(in.Annotations).Next(!in.Ignored))
}

// Converted is the result of fromDraft and toDraft.
type Converted[T any] struct {
	Result *T     `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

func converted[T any](v T, err error) Converted[T] {
	if err != nil {
		return Converted[T]{Error: err.Error()}
	}
	return Converted[T]{Result: &v}
}

func fromDraft(d backoff.Draft) Converted[backoff.Fields] { return converted(backoff.Convert(d)) }
func toDraft(f backoff.Fields) Converted[backoff.Draft]   { return converted(f.Draft()) }
