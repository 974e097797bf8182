package backoff_test

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/backoff"
)

func FuzzDelay(f *testing.F) {
	f.Fuzz(func(t *testing.T, base, limit int64, factor float64, failures int32, seconds, nanos int64) {
		p := backoff.Policy{Base: time.Duration(base), Cap: time.Duration(limit), Factor: factor}
		const centuries = 1 << 34 // in seconds; a Duration holds less
		checkDelay(t, p, failures, t0, time.Unix(t0.Unix()+seconds%centuries, nanos%1e9))
	})
}

// FuzzPod decodes a pod from any JSON, so it reaches pods that no API server would store.
func FuzzPod(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		var pod corev1.Pod
		if json.Unmarshal([]byte(text), &pod) == nil {
			checkPod(t, &pod)
		}
	})
}

// FuzzRecord reads a time from each byte: a number of seconds after t0.
func FuzzRecord(f *testing.F) {
	f.Fuzz(func(t *testing.T, failures int32, last int64, succeeded, failed []byte) {
		times := func(of []byte) (list []time.Time) {
			for _, b := range of {
				list = append(list, at(int(b)).Time)
			}
			return list
		}
		record := backoff.Record{Job: "uid", Failures: failures, LastFailure: t0.Add(time.Duration(last))}
		checkRecord(t, record, times(succeeded), times(failed))
	})
}
