package cli

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// bases holds the objects that those of explain/testdata/causes are merged into, by kind, and by
// the state that "is" names.
var bases = map[string]string{
	"Job": `{apiVersion: batch/v1, kind: Job, metadata: {name: train, namespace: ml, uid: job-uid, creationTimestamp: "2026-05-01T12:00:00Z"},
  spec: {parallelism: 3, completions: 3, backoffLimit: 6, selector: {matchLabels: {batch.kubernetes.io/controller-uid: job-uid}}, template: {
    metadata: {labels: {batch.kubernetes.io/controller-uid: job-uid, job-name: train}}, spec: {restartPolicy: Never, containers: [{name: main, image: train}]}}},
  status: {startTime: "2026-05-01T12:00:00Z"}}`,
	"Pod": `{apiVersion: v1, metadata: {namespace: ml, creationTimestamp: "2026-05-01T12:00:01Z", finalizers: [batch.kubernetes.io/job-tracking],
  labels: {batch.kubernetes.io/controller-uid: job-uid, job-name: train},
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: train, uid: job-uid, controller: true, blockOwnerDeletion: true}]}, spec: {}}`,
	"Event":          `{apiVersion: v1, type: Warning, metadata: {name: e, namespace: ml}}`,
	"running":        `{spec: {nodeName: worker-1}, status: {phase: Running, conditions: [SCHEDULED, {type: Ready, status: "True", lastTransitionTime: "2026-05-01T12:00:09Z"}], containerStatuses: [{name: main, ready: true, restartCount: 0, state: {running: {startedAt: "2026-05-01T12:00:08Z"}}}]}}`,
	"on a node":      `{spec: {nodeName: worker-1}, status: {phase: Pending, conditions: [SCHEDULED], containerStatuses: [{name: main, ready: false, restartCount: 0, state: {waiting: {reason: ContainerCreating}}}]}}`,
	"without a node": `{status: {phase: Pending}}`,
	"failed":         `{spec: {nodeName: worker-1}, status: {phase: Failed, conditions: [SCHEDULED]}}`,
	"":               `{metadata: {namespace: ml}}`,
}

// object returns the fields in a text.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	return fromYAML[map[string]any](t, strings.ReplaceAll(text, "SCHEDULED", `{type: PodScheduled, status: "True", lastTransitionTime: "2026-05-01T12:00:02Z"}`))
}

// combined returns the fields of both objects. A value of b wins unless both are maps.
func combined(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	for name, value := range b {
		was, isMap := out[name].(map[string]any)
		if is, both := value.(map[string]any); isMap && both {
			value = combined(was, is)
		}
		out[name] = value
	}
	return out
}

// asPrinted returns a shortened object as kubectl prints it.
func asPrinted(t *testing.T, o map[string]any) map[string]any {
	t.Helper()
	kind, _ := o["kind"].(string)
	if _, short := bases[kind]; !short || kind == "Event" && o["apiVersion"] != nil {
		return combined(object(t, bases[""]), o)
	}
	base := object(t, bases[kind])
	if is, ok := o["is"].(string); ok {
		base = combined(base, object(t, bases[is]))
	}
	switch kind {
	case "Pod":
		name := fmt.Sprint(o["metadata"].(map[string]any)["name"])
		uid, index := "pod-"+name[len(name)-1:], map[string]any{"batch.kubernetes.io/job-completion-index": name[len(name)-1:]}
		base = combined(base, map[string]any{"metadata": map[string]any{"uid": uid, "annotations": index}})
	case "Event":
		about, name, _ := strings.Cut(fmt.Sprint(o["about"]), "/")
		uid := "uid-of-" + name
		switch about {
		case "Pod":
			uid = "pod-" + name[len(name)-1:]
		case "job", "<nil>":
			about, name, uid = "Job", "train", "job-uid"
		}
		base["involvedObject"] = map[string]any{"kind": about, "namespace": "ml", "name": name, "uid": uid, "fieldPath": o["container"]}
		base["lastTimestamp"] = "2026-05-01T" + fmt.Sprint(o["at"]) + "Z"
	}
	return combined(base, o)
}

// causesOf returns the inputs in a file of explain/testdata/causes, by their title, with the first cause.
func causesOf(t *testing.T, file string) (inputs map[string]string, want map[string]string) {
	t.Helper()
	inputs, want = map[string]string{}, map[string]string{}
	for _, part := range strings.Split("\n"+readFile(t, file), "\n=== ")[1:] {
		docs := strings.Split(part, "\n---\n")
		title, head, _ := strings.Cut(docs[0], "\n")
		_, code, _ := strings.Cut("\n"+head, "\nwant: ")
		want[title], _, _ = strings.Cut(code, " ")
		job := object(t, bases["Job"])
		if !strings.Contains(part, "kind: Job") {
			job["status"].(map[string]any)["active"] = 3
		}
		for _, doc := range docs[1:] {
			o := object(t, doc)
			if o["kind"] == "Job" { // a second one has fields that the types of the API may lack
				job = combined(job, o)
				continue
			}
			inputs[title] += string(encode(asPrinted(t, o))) + "\n"
		}
		inputs[title] += string(encode(job))
	}
	return inputs, want
}

// TestCauses checks that the command names the cause of each input of explain/testdata/causes, and that its output
// conforms to the schema.
func TestCauses(t *testing.T) {
	r, err := schemaOfCommand(t, "explain", documents[0].types, false).Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range glob(t, "../../../explain/testdata/causes/*.yaml") {
		inputs, want := causesOf(t, file)
		for title, input := range inputs {
			if strings.Contains(input, "NodeList") {
				want[title] = "Running" // a file does not say whether its list has all nodes
			}
			got := runWith(input, "explain", "--now", "2026-05-01T12:30:00Z", "-o", "json")
			if err := conforms(r, got.Stdout); err != nil || got.Status != exitOK {
				t.Errorf("%s: %s: status %d, %v, %s", file, title, got.Status, err, got.Stderr)
				continue
			}
			first := fromJSON[report](t, got.Stdout)
			if code := first.Reason.Code; code != want[title] && (first.ManagedBy == "" || code != "ManagedElsewhere" || first.Also[0].Code != want[title]) {
				t.Errorf("%s: %s: got %s: %s, want %s", file, title, code, first.Reason.Text, want[title])
			}
		}
	}
}
