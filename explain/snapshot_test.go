package explain_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
)

// now is the time of the snapshots.
var now = time.Date(2026, 5, 1, 12, 30, 0, 0, time.UTC)

// theJob returns a Job as kubectl prints it, created and started at 12:00. The arguments are
// YAML to add to its parts.
func theJob(metadata, spec, status string) string {
	return `
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  namespace: ml
  uid: job-uid
  creationTimestamp: "2026-05-01T12:00:00Z"
` + indented(2, metadata) + `
spec:
  parallelism: 3
  completions: 3
  backoffLimit: 6
  selector: {matchLabels: {batch.kubernetes.io/controller-uid: job-uid}}
  template:
    metadata: {labels: {batch.kubernetes.io/controller-uid: job-uid, job-name: train}}
    spec: {restartPolicy: Never, containers: [{name: main, image: registry.example/train:v2}]}
` + indented(2, spec) + `
status:
  startTime: "2026-05-01T12:00:00Z"
` + indented(2, status)
}

// plainJob returns a Job with three active pods.
func plainJob() string { return theJob("", "", "active: 3") }

// oneActive returns a Job with one active pod, which is all that it runs at once.
func oneActive() string { return theJob("", "parallelism: 1", "active: 1") }

// aPod returns a pod of the Job as kubectl prints it, created at 12:00. More is YAML: lines
// of the metadata, then after "---" lines of the pod.
func aPod(n int, more string) string {
	uid := "uid: job-uid"
	if strings.Contains(more, "# of an earlier Job") {
		uid = "uid: old-uid"
	}
	meta, rest, _ := strings.Cut(more, "---\n")
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata:
  name: train-%d
  namespace: ml
  uid: pod-%d
  creationTimestamp: "2026-05-01T12:00:01Z"
  labels: {batch.kubernetes.io/controller-uid: job-uid, job-name: train}
  annotations: {batch.kubernetes.io/job-completion-index: "%d"}
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: train, %s, controller: true, blockOwnerDeletion: true}]
  finalizers: [batch.kubernetes.io/job-tracking%s]
%s
%s`, n, n, n, uid, finalizersIn(meta), withoutFinalizers(meta), rest)
}

func finalizersIn(meta string) string {
	if _, names, ok := strings.Cut(meta, "finalizers: "); ok {
		names, _, _ = strings.Cut(names, "\n")
		return ", " + names
	}
	return ""
}

func withoutFinalizers(meta string) string {
	var lines []string
	for line := range strings.SplitSeq(meta, "\n") {
		if !strings.HasPrefix(line, "finalizers: ") {
			lines = append(lines, line)
		}
	}
	return indented(2, strings.Join(lines, "\n"))
}

const scheduled = `{type: PodScheduled, status: "True", lastTransitionTime: "2026-05-01T12:00:02Z"}`

// running is the state of a pod that runs on a node.
const running = `---
spec: {nodeName: worker-1}
status:
  phase: Running
  conditions: [` + scheduled + `, {type: Ready, status: "True", lastTransitionTime: "2026-05-01T12:00:09Z"}]
  containerStatuses: [{name: main, ready: true, restartCount: 0, state: {running: {startedAt: "2026-05-01T12:00:08Z"}}}]`

// waitingFor is the state of a pod whose container waits.
func waitingFor(reason, message string) string {
	return `---
spec: {nodeName: worker-1}
status:
  phase: Pending
  conditions: [` + scheduled + `]
  containerStatuses: [{name: main, ready: false, restartCount: 0, state: {waiting: {reason: ` + reason + `, message: '` + message + `'}}}]`
}

// unscheduled is the state of a pod that has no node.
func unscheduled(reason, message string) string {
	return `---
status:
  phase: Pending
  conditions: [{type: PodScheduled, status: "False", lastTransitionTime: "2026-05-01T12:00:02Z", reason: ` + reason + `, message: "` + message + `"}]`
}

const noCPU = "0/5 nodes are available: 5 Insufficient cpu."

// threePods are three pods in the same state.
func threePods(more string) []string { return []string{aPod(0, more), aPod(1, more), aPod(2, more)} }

func indented(by int, text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	pad := strings.Repeat(" ", by)
	return pad + strings.ReplaceAll(text, "\n", "\n"+pad)
}

// given holds what kubectl printed.
type given struct {
	decide.Snapshot
	explain.Evidence
}

func read(t *testing.T, documents ...string) given {
	t.Helper()
	g := given{decide.Snapshot{Now: now}, explain.Evidence{NextRun: daily}}
	for _, document := range documents {
		if err := g.add(document); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
	}
	return g
}

// daily returns the next run of a schedule of the form "minute hour * * *".
func daily(schedule, timeZone string, after time.Time) (next time.Time) {
	var minute, hour int
	zone, err := time.LoadLocation(timeZone)
	if _, other := fmt.Sscanf(schedule, "%d %d * * *", &minute, &hour); err != nil || other != nil {
		return next
	}
	next = time.Date(after.Year(), after.Month(), after.Day(), hour, minute, 0, 0, zone)
	for !next.After(after) {
		next = next.AddDate(0, 0, 1)
	}
	return next
}

// add adds an object. Those without a type of the API, and a second Job, are objects of any kind.
func (g *given) add(document string) error {
	var kind struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	text := []byte(document)
	if !json.Valid(text) { // reading YAML takes most of the time of a search
		var err error
		if text, err = yaml.ToJSON(text); err != nil {
			return err
		}
	}
	if err := json.Unmarshal(text, &kind); err != nil {
		return err
	}
	decode := func(into any) error { return json.Unmarshal(text, into) }
	switch kind.APIVersion + " " + kind.Kind {
	case "batch/v1 Job":
		if g.Job == nil {
			g.Job = &batchv1.Job{}
			return decode(g.Job)
		}
	case "v1 Pod":
		g.Pods = append(g.Pods, &corev1.Pod{})
		return decode(g.Pods[len(g.Pods)-1])
	case "v1 Event":
		g.Events = append(g.Events, &corev1.Event{})
		return decode(g.Events[len(g.Events)-1])
	case "v1 NodeList": // all of the cluster
		var list corev1.NodeList
		err := decode(&list)
		for i := range list.Items {
			g.Nodes, g.AllNodes = append(g.Nodes, &list.Items[i]), true
		}
		return err
	case "v1 Node":
		g.Nodes = append(g.Nodes, &corev1.Node{})
		return decode(g.Nodes[len(g.Nodes)-1])
	}
	u := &unstructured.Unstructured{}
	g.Objects = append(g.Objects, u)
	return decode(&u.Object)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// explained decides on what kubectl printed and explains the decision.
func explained(t *testing.T, documents ...string) explain.Explanation {
	t.Helper()
	e, err := read(t, documents...).explain()
	must(t, err)
	return e
}

// anEvent is a warning as kubectl prints it.
func anEvent(about, reason, message, last string) string {
	return `
apiVersion: v1
kind: Event
type: Warning
metadata: {name: e, namespace: ml}
involvedObject: ` + about + `
reason: ` + reason + `
message: '` + message + `'
lastTimestamp: "2026-05-01T` + last + `Z"`
}

// normal turns a warning into an event of the type Normal.
func normal(event string) string { return strings.Replace(event, "Warning", "Normal", 1) }

const (
	aboutJob = "{kind: Job, namespace: ml, name: train, uid: job-uid}"
	aboutPod = "{kind: Pod, namespace: ml, name: train-0, uid: pod-0}"
)

// aNode is a node whose kubelet has stopped.
const aNode = `
apiVersion: v1
kind: Node
metadata: {name: worker-1}
status:
  conditions:
  - {type: MemoryPressure, status: Unknown, reason: NodeStatusUnknown}
  - {type: Ready, status: Unknown, reason: NodeStatusUnknown, message: Kubelet stopped posting node status., lastTransitionTime: "2026-05-01T12:05:00Z"}`
