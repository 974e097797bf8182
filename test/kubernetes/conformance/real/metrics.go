package real

import (
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	metricsapi "k8s.io/component-base/metrics"
	"k8s.io/kubernetes/pkg/controller/job/metrics"
)

// Counters that are not registered do not count.
var registerMetrics = sync.OnceFunc(metrics.Register)

func counters() []*metricsapi.CounterVec {
	return []*metricsapi.CounterVec{
		metrics.JobSyncNum,
		metrics.JobFinishedNum,
		metrics.JobPodsFinished,
		metrics.PodFailuresHandledByFailurePolicy,
		metrics.JobFinishedIndexesTotal,
		metrics.JobPodsCreationTotal,
	}
}

func resetCounters() {
	for _, vec := range counters() {
		vec.Reset()
	}
}

// readCounters returns the counters that have changed since resetCounters.
func readCounters() map[string]float64 {
	moved := map[string]float64{}
	for _, vec := range counters() {
		// The buffer holds every combination of labels that one sync can touch.
		ch := make(chan prometheus.Metric, 32)
		vec.CounterVec.Collect(ch)
		close(ch)
		for m := range ch {
			var d dto.Metric
			if err := m.Write(&d); err != nil {
				panic(fmt.Sprintf("real: counter %s: %v", vec.Name, err))
			}
			if v := d.GetCounter().GetValue(); v != 0 {
				moved[vec.Name+labels(&d)] = v
			}
		}
	}
	return moved
}

// labels formats the labels of a metric, which are sorted by name.
func labels(d *dto.Metric) string {
	s := "{"
	for i, l := range d.GetLabel() {
		if i > 0 {
			s += ","
		}
		s += fmt.Sprintf("%s=%q", l.GetName(), l.GetValue())
	}
	return s + "}"
}
