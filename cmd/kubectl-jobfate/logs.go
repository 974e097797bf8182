package main

import (
	"bytes"
	"context"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/cmd/internal/cli"
)

// mostLog is the maximum number of bytes to read of a log.
const mostLog = 1 << 16

// log reads the last lines of the log of the container that the first cause names: of its last run, if it has
// been restarted. It returns nil if the cause names none.
func (p *program) log(ctx context.Context, in cli.Objects, view *cli.View, lines int64) *cli.Log {
	name, container := view.Culprit()
	for _, pod := range in.Pods {
		if pod.Name != name || container == "" {
			continue
		}
		l := &cli.Log{Pod: name, Container: container, Previous: restarted(pod, container)}
		text, err := p.readLog(ctx, pod.Namespace, name, &corev1.PodLogOptions{Container: container,
			Previous: l.Previous, TailLines: &lines, LimitBytes: new(int64(mostLog))})
		if err != nil {
			l.Error = valid(err.Error())
			return l
		}
		l.Lines = strings.Split(strings.TrimSuffix(valid(string(bytes.TrimSpace(text))), "\n"), "\n")
		return l
	}
	return nil
}

// restarted reports whether a container has ended and does not show its end any more.
func restarted(pod *corev1.Pod, container string) bool {
	for _, all := range statusesOf(pod) {
		for i := range all {
			if all[i].Name == container {
				return all[i].State.Terminated == nil && all[i].LastTerminationState.Terminated != nil
			}
		}
	}
	return false
}

func (p *program) readLog(ctx context.Context, namespace, pod string, o *corev1.PodLogOptions) ([]byte, error) {
	c, err := p.connect(selection{})
	if err != nil {
		return nil, err
	}
	log, err := c.typed.CoreV1().Pods(namespace).GetLogs(pod, o).Stream(ctx) // unlike DoRaw, it decodes errors
	if err != nil {
		return nil, err
	}
	defer log.Close()
	return io.ReadAll(log)
}
