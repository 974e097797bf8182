package jobfate

import (
	"strconv"
	"strings"
)

// Metric is what to add to a counter. The names and labels are those of the Job
// controller, without the prefix job_controller_ of its subsystem.
type Metric struct {
	Name   string
	Labels []Label
	Add    int64
}

// Label is a label of a metric.
type Label struct{ Name, Value string }

// String returns the metric as name{label="value"} with the number to add.
func (m Metric) String() string {
	var labels []string
	for _, l := range m.Labels {
		labels = append(labels, l.Name+"="+strconv.Quote(l.Value))
	}
	name := m.Name
	if len(labels) > 0 {
		name += "{" + strings.Join(labels, ",") + "}"
	}
	return name + " +" + strconv.FormatInt(m.Add, 10)
}
