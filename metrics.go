package jobfate

// Metric is what to add to a counter. The names and labels are those of the Job
// controller, without the prefix job_controller_ of its subsystem.
type Metric struct {
	Name   string
	Labels map[string]string
	Add    int64
}
