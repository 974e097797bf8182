// Package cases has objects as kubectl prints them, for tests: those of the inputs in
// cmd/diagnose/testdata/causes, which are shortened there.
package cases

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Input is a case of cmd/diagnose/testdata/causes. Its objects are shortened: Documents adds what all of them have.
type Input struct {
	File, Title string
	Want        string // code and attention of the first cause
	Whole       string // the text of the first cause
	Unmanaged   string // code, attention and text without a decision
	Pods        string // the names of its pods; the first and the last of several
	Text        []string
	Advice      []string
	Not         []string // codes that must not be among the causes and notes: the input is a near miss
	Also        []string // texts of notes and waits, lines of the timeline, of indexes and of totals
	objects     []map[string]any
}

// Inputs reads the cases of the files in a folder. A case begins with a line "=== title". Lines of the form
// "want: Code Attention", "whole: the text", "unmanaged: Code Attention: the text", "pods: first, last",
// "text: a part", "advice: a part", "also: a line" and "not: Code" follow, and comments. Then come objects, each after
// a line "---".
func Inputs(folder string) (all []Input, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no inputs in %s: %w", folder, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, part := range strings.Split("\n"+string(text), "\n=== ")[1:] {
			in, err := parse(part)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", file, in.Title, err)
			}
			in.File = filepath.Base(file)
			all = append(all, in)
		}
	}
	return all, nil
}

func parse(text string) (in Input, err error) {
	docs := strings.Split(text, "\n---\n")
	head := strings.Split(docs[0], "\n")
	in.Title = head[0]
	texts := map[string]*string{"want": &in.Want, "whole": &in.Whole, "unmanaged": &in.Unmanaged, "pods": &in.Pods}
	lists := map[string]*[]string{"text": &in.Text, "advice": &in.Advice, "also": &in.Also, "not": &in.Not}
	for _, line := range head[1:] {
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "" || line[0] == '#':
		case texts[name] != nil:
			*texts[name] = value
		case lists[name] != nil:
			*lists[name] = append(*lists[name], value)
		default:
			return in, fmt.Errorf("%q is no line of an input", line)
		}
	}
	for _, doc := range docs[1:] {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			return in, fmt.Errorf("%w in\n%s", err, doc)
		}
		in.objects = append(in.objects, o)
	}
	return in, nil
}

// Merge returns a map with what another one adds to it.
func Merge(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	for name, value := range b {
		was, isMap := out[name].(map[string]any)
		is, both := value.(map[string]any)
		if isMap && both {
			value = Merge(was, is)
		}
		out[name] = value
	}
	return out
}

// FromYAML returns the object in a text of a test.
func FromYAML(text string) (o map[string]any) {
	utilruntime.Must(yaml.Unmarshal([]byte(text), &o))
	return o
}

//go:embed objects.yaml
var objectsYAML string

var objects = FromYAML(objectsYAML)

// object returns a copy of one of objects.yaml.
func object(name string) map[string]any { return runtime.DeepCopyJSON(objects[name].(map[string]any)) }

// pod returns the nth pod of the Job.
func pod(n int) map[string]any {
	return Merge(object("pod"), map[string]any{"metadata": map[string]any{
		"name": fmt.Sprint("train-", n), "uid": fmt.Sprint("pod-", n),
		"annotations": map[string]any{"batch.kubernetes.io/job-completion-index": strconv.Itoa(n)},
	}})
}

// writeStatus adds what a kubelet writes in the status of every container.
func writeStatus(pod map[string]any) {
	status, _ := pod["status"].(map[string]any)
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		all, _ := status[list].([]any)
		for i, c := range all {
			c := c.(map[string]any)
			_, runs := c["state"].(map[string]any)["running"]
			all[i] = Merge(map[string]any{"image": "registry.example/train:v2", "imageID": "", "ready": runs,
				"restartCount": 0, "started": runs, "lastState": map[string]any{}}, c)
		}
	}
}

// complete returns an object as kubectl prints it, except for parts that no cause depends on.
func complete(o map[string]any) string {
	kind := fmt.Sprint(o["kind"])
	switch {
	case kind == "Job" && o["apiVersion"] == nil:
		job := object("job")
		if spec, _ := o["spec"].(map[string]any); spec["suspend"] == true {
			// pkg/controller/job/job_controller.go, syncJob
			job["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Suspended", "status": "True",
				"reason": "JobSuspended", "message": "Job suspended", "lastTransitionTime": "2026-05-01T12:00:00Z"}}}
		}
		o = Merge(job, o)
	case kind == "Pod":
		name := fmt.Sprint(o["metadata"].(map[string]any)["name"])
		var n int
		_, _ = fmt.Sscanf(name, "train-%d", &n)
		base := pod(n)
		if is, ok := o["is"]; ok {
			base = Merge(base, object(is.(string)))
			delete(o, "is")
		}
		o = Merge(base, o)
		writeStatus(o)
	case kind == "Event" && o["apiVersion"] == nil:
		about := map[string]any{"kind": "Job", "namespace": "ml", "name": "train", "uid": "job-uid"}
		if text, ok := o["about"].(string); ok && text != "job" {
			kind, name, _ := strings.Cut(text, "/")
			about["kind"], about["name"], about["uid"] = kind, name, "uid-of-"+name
			switch kind {
			case "Pod":
				about["uid"] = "pod-" + name[len(name)-1:]
			case "Node":
				delete(about, "namespace")
			}
		}
		if field, ok := o["container"]; ok {
			about["fieldPath"] = field
		}
		base := map[string]any{"apiVersion": "v1", "type": "Warning", "involvedObject": about,
			"metadata": map[string]any{"name": "e", "namespace": "ml"}}
		at := "2026-05-01T" + fmt.Sprint(o["at"]) + "Z"
		for _, name := range []string{"at", "about", "container"} {
			delete(o, name)
		}
		o = Merge(base, o)
		writeEvent(o, at)
	default:
		o = Merge(map[string]any{"metadata": map[string]any{"namespace": "ml"}}, o)
	}
	text, err := json.Marshal(o)
	utilruntime.Must(err)
	return string(text)
}

// Documents returns the objects of an input as kubectl prints them, the Job first: a later one has fields that
// the types of the API may lack.
func (in Input) Documents() (all []string) {
	isJob := func(o map[string]any) bool { return o["kind"] == "Job" && o["apiVersion"] == nil }
	for _, o := range in.objects {
		if isJob(o) {
			all = append(all, complete(maps.Clone(o)))
		}
	}
	if all == nil {
		all = append(all, complete(FromYAML("{kind: Job, status: {active: 3}}")))
	}
	for _, o := range in.objects {
		if !isJob(o) {
			all = append(all, complete(maps.Clone(o)))
		}
	}
	return all
}

// writers lists the components that write events, with their type and reasons: pkg/kubelet/events, and the files that
// the inputs name.
var writers = []struct{ component, kind, reasons string }{
	{"kubelet", "Normal", "BackOff Created Killing Pulled Pulling SandboxChanged Started"},
	{"kubelet", "Warning", "BackOff Evicted Failed FailedCreatePodContainer FailedCreatePodSandBox FailedKillPod " +
		"FailedMount FailedPrepareDynamicResources FailedToRetrieveImagePullSecret NetworkNotReady Rebooted " +
		"SystemOOM Unhealthy VolumePermissionChangeInProgress"},
	{"default-scheduler", "Normal", "Preempted Scheduled"},
	{"default-scheduler", "Warning", "FailedScheduling"},
	{"attachdetach-controller", "Normal", "SuccessfulAttachVolume"},
	{"attachdetach-controller", "Warning", "FailedAttachVolume"},
	{"persistentvolume-controller", "Warning", "ClaimLost ProvisioningFailed"},
	{"resource_claim", "Warning", "FailedResourceClaimCreation"},
	{"node-controller", "Warning", "NodeNotReady"},
	{"kernel-monitor", "Warning", "IOError TaskHung"},
	{"job-controller", "Normal", "SuccessfulCreate SuccessfulDelete Suspended"},
	{"job-controller", "Warning", "FailedCreate"},
	{"cronjob-controller", "Normal", "JobAlreadyActive SawCompletedJob SuccessfulCreate SuccessfulDelete"},
	{"cronjob-controller", "Warning", "FailedCreate InvalidSchedule MissSchedule UnknownTimeZone UnparseableSchedule"},
	{"cluster-autoscaler", "Normal", "NotTriggerScaleUp ScaleDown TriggeredScaleUp"},
	{"cluster-autoscaler", "Warning", "FailedScaleUp"}, // of GKE
	{"karpenter", "Normal", "Evicted Nominated"},
	{"karpenter", "Warning", "FailedScheduling SpotInterrupted"},
	{"batch/job-kueue-controller", "Normal", "Stopped"},
}

// newEvents lists the components that use the newer API for events: in core/v1, they have an eventTime alone.
var newEvents = []string{"default-scheduler", "batch/job-kueue-controller"}

// writeEvent adds to an event what its writer adds. An input names the writer if several have the reason.
func writeEvent(o map[string]any, at string) {
	source, _ := o["source"].(map[string]any)
	for _, w := range writers {
		if o["type"] == w.kind && slices.Contains(strings.Fields(w.reasons), fmt.Sprint(o["reason"])) &&
			cmp.Or(source["component"], any(w.component)) == any(w.component) {
			o["reportingComponent"] = w.component
			if slices.Contains(newEvents, w.component) {
				o["eventTime"] = strings.Replace(at, "Z", ".000001Z", 1)
				return
			}
			o["source"] = Merge(map[string]any{"component": w.component}, source)
			o["firstTimestamp"], o["lastTimestamp"] = at, at
			o["count"] = cmp.Or(o["count"], any(1))
			return
		}
	}
}
