package vectors

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// fields describes a sync or a step of a dialogue: the items of each field, in order. The field
// whole is the whole of it as JSON, so that no difference is overlooked.
type fields map[string][]string

const whole = "whole"

func (f fields) add(field, item string) {
	if item != "" {
		f[field] = append(f[field], item)
	}
}

// differ returns the names of the fields that differ.
func (f fields) differ(other fields) []string {
	all := maps.Clone(f)
	maps.Copy(all, other)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)),
		func(name string) bool { return slices.Equal(f[name], other[name]) })
}

// fieldsOf returns the fields of an outcome.
func fieldsOf(o *Outcome) fields {
	f := fields{whole: {textOf(o)}}
	written := "status" // the prefix of the next status: "counted" once finalizers were removed
	for _, w := range o.Writes {
		f.add("order", strings.TrimSpace(string(w.Verb)+" "+w.Pod))
		switch w.Verb {
		case Create:
			f.create(w.New)
		case Status:
			f.status(written, statusOf(w.Status))
		default:
			f.add(string(w.Verb), "pod "+w.Pod)
		}
		if w.Verb == Strip {
			written = "counted"
		}
		if w.Patch != nil {
			f.add("patch", string(w.Verb)+" "+w.Pod+" "+textOf(w.Patch))
		}
	}
	f.requeue("requeueMs", o.Requeue)
	if o.Backoff.Failures != 0 {
		f.add("backoff.failures", fmt.Sprint(o.Backoff.Failures))
	}
	if at := o.Backoff.LastFailure; at != nil {
		f.add("backoff.lastFailure", at.Format(time.RFC3339Nano))
	}
	f.report(o.Events, o.Metrics, o.Left)
	f.add("action", o.Action)
	f.flag("finished", o.Finished)
	return f
}

// fieldsOfStep returns the fields of the requests or the result of a step.
func fieldsOfStep(s Step) fields {
	f := fields{whole: {textOf(s)}}
	for _, r := range s.Requests {
		f.add("order", fmt.Sprintf("%d %s %s", r.ID, r.Verb, cmp.Or(r.Name, nameIn(r.Pod))))
		switch r.Verb {
		case "create pod":
			pod := &corev1.Pod{}
			if json.Unmarshal(r.Pod, pod) == nil {
				f.create(NewPodOf(pod))
			}
			f.add("pod", string(r.Pod))
		case "patch the status":
			patch := struct{ Status map[string]any }{}
			if json.Unmarshal(r.Patch, &patch) == nil {
				f.status("status", patch.Status)
			}
			f.add("patch", string(r.Patch))
		case "patch pod":
			f.add(purposeOf(r.Patch), "pod "+r.Name)
			f.add("patch", r.Name+" "+string(r.Patch))
		case "delete pod":
			f.add("delete", "pod "+r.Name)
			f.add("precondition", r.Name+" "+string(r.Precondition))
		default:
			f.add("read", readWords[r.Verb]+r.Name)
		}
		f.add("uid", r.Verb+" "+r.Name+" "+string(r.UID))
	}
	if r := s.Result; r != nil {
		f.add("over", "the sync")
		f.requeue("requeueMs", r.Requeue)
		f.requeue("retryAfterMs", r.RetryAfter)
		f.flag("failed", r.Failed)
		f.flag("gone", r.Gone)
		f.flag("ended", r.Ended)
		f.report(r.Events, r.Metrics, r.Left)
		f.add("unobserved", r.Unobserved)
	}
	return f
}

var readWords = map[string]string{"get the Job": "Job ", "list the pods": "the list of pods", "get pod": "pod "}

// purposeOf returns the purpose of a patch of a pod, as far as its text shows it.
func purposeOf(patch json.RawMessage) string {
	switch text := string(patch); {
	case strings.Contains(text, `"$patch":"delete"`):
		return string(Release)
	case strings.Contains(text, `"ownerReferences"`):
		return string(Adopt)
	case strings.Contains(text, `"resourceVersion"`): // it must not apply to a pod that has finished meanwhile
		return string(Untrack)
	}
	return string(Strip)
}

func nameIn(pod json.RawMessage) string {
	var object struct {
		Metadata struct{ Name, GenerateName string }
	}
	if json.Unmarshal(pod, &object) != nil {
		return ""
	}
	return cmp.Or(object.Metadata.Name, object.Metadata.GenerateName)
}

func (f fields) flag(field string, set bool) {
	if set {
		f.add(field, "true")
	}
}

func (f fields) requeue(field string, milliseconds int64) {
	if milliseconds != 0 {
		f.add(field, time.Duration(milliseconds*int64(time.Millisecond)).String())
	}
}

func (f fields) report(events []Event, metrics map[string]int64, left Left) {
	for _, e := range events {
		f.add("events", e.Type+" "+e.Reason+": "+e.Message)
	}
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		f.add("metrics", fmt.Sprintf("%s %d", name, metrics[name]))
	}
	if left != (Left{}) {
		f.add("left", fmt.Sprintf("%d pods to create, %d to delete, %d finalizers", left.Create, left.Delete,
			left.Strip))
	}
}

// create adds a pod to create, and its parts that do not come from the template.
func (f fields) create(n *NewPod) {
	item := "a pod without an index"
	if index := n.Annotations[batchv1.JobCompletionIndexAnnotation]; index != "" {
		item = "index " + index
	}
	f.add("create", item)
	parts := map[string]any{}
	_ = json.Unmarshal([]byte(textOf(n)), &parts) // it was JSON
	for field, value := range parts {
		f.add("new."+field, item+": "+textOf(value))
	}
}

// status adds a status, as JSON. A field that is absent or null is not added.
func (f fields) status(prefix string, status map[string]any) {
	for field, value := range status {
		switch value := value.(type) {
		case nil:
		case []any: // the conditions
			for _, c := range value {
				c, _ := c.(map[string]any)
				reason, _ := c["reason"].(string)
				f.add(prefix+"."+field, strings.TrimSpace(fmt.Sprintf("%v %v %s", c["type"], c["status"], reason)))
				f.add("texts", fmt.Sprintf("%s %v: %v", prefix, c["type"], c["message"]))
				f.add("times", fmt.Sprintf("%s %v: %v, %v", prefix, c["type"], c["lastTransitionTime"],
					c["lastProbeTime"]))
			}
		case map[string]any: // the uncounted pods
			for list, uids := range value {
				uids, _ := uids.([]any)
				for _, uid := range uids {
					f.add(prefix+"."+field+"."+list, fmt.Sprint("pod ", uid))
				}
			}
		default:
			f.add(prefix+"."+field, textOf(value))
		}
	}
	f.add(prefix, "the status")
}

func statusOf(s *batchv1.JobStatus) (status map[string]any) {
	_ = json.Unmarshal([]byte(textOf(s)), &status) // it was JSON
	return status
}

func textOf(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
