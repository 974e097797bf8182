package cli

import "fmt"

// Log is the end of the log of a container.
type Log struct {
	Pod       string `json:"pod"`
	Container string `json:"container"`
	// Previous says that it is the log of the run before the last restart.
	Previous bool     `json:"previous"`
	Lines    []string `json:"lines"`
	// Error says why the log cannot be read; absent if it can.
	Error string `json:"error,omitempty"`
}

// Culprit returns the pod and the container that show the first cause; empty if none does.
func (v *View) Culprit() (pod, container string) {
	return v.reports[0].Reason.Pod, v.reports[0].Reason.Container
}

// AddLog adds the end of a log to the first report; nil if there is none.
func (v *View) AddLog(l *Log) {
	if v.reports[0].Log = l; l != nil && l.Lines == nil {
		l.Lines = []string{}
	}
}

// log writes the end of a log.
func (b *page) log(l *Log) {
	if l == nil {
		return
	}
	lines := l.Lines
	if l.Error != "" {
		lines = []string{"it cannot be read: " + l.Error}
	}
	b.section(fmt.Sprintf("Log of container %s of pod %s%s", l.Container, l.Pod,
		map[bool]string{true: ", before its restart"}[l.Previous]), lines)
}
