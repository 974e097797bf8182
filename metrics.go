package jobfate

// Metric is an increment of a counter. The names and labels are those of the Job
// controller, without the subsystem prefix job_controller_.
type Metric struct {
	Name   string
	Labels map[string]string
	Add    int64
}
