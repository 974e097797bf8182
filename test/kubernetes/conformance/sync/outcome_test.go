package sync

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
	"github.com/jobfate/jobfate/test/vectors"
)

// An outcome is everything that a sync did. Calls of one kind are ordered by the name of the pod, and
// creations by number, because calls within a batch have no order.
type outcome struct {
	Claims    []call
	Deletions []call // for each pod first the removal of the finalizer, then the deletion
	Creations []call
	Statuses  []call
	Strips    []call
	// StoredFirst is the number of statuses written before the first finalizer was removed.
	// It is zero if none was removed.
	StoredFirst int
	Freed       []string // pods that lose the finalizer because they will not be counted

	Events    []real.Event
	PodEvents []real.Event
	Requeue   time.Duration // 0: none
	Backoff   real.Record
	Metrics   map[string]float64
	Action    string // the label of job_syncs_total; empty: the sync is not counted
	Finished  bool   // the end of the Job was stored
	Failed    bool   // a write failed, so the sync is retried
}

// A call is a write, and whether it failed.
type call struct {
	Kind   real.Kind
	Pod    string
	Object *corev1.Pod
	Patch  string
	Status *batchv1.JobStatus
	Err    string
}

// failed reports whether the call failed, so that the sync is retried. A call for a pod that is already gone has
// reached its goal, and so has a release that is invalid. A creation in a terminating namespace is not retried.
func (c call) failed() bool {
	released := c.Kind == real.Release && c.Err == real.ErrInvalid.Error()
	return c.Err != "" && !c.gone() && !released && c.Err != real.ErrNamespaceTerminating.Error()
}

// gone reports whether the pod of the call was already gone.
func (c call) gone() bool { return strings.Contains(c.Err, "not found") }

func newCall(c real.Call) call {
	out := call{Kind: c.Kind, Pod: c.Pod, Object: c.Object, Patch: canonicalJSON(c.Patch)}
	if c.Status != nil {
		out.Status = vectors.Normal(c.Status)
	}
	if c.Err != nil {
		out.Err = c.Err.Error()
	}
	return out
}

// canonicalJSON writes the keys of objects in order.
func canonicalJSON(data []byte) string {
	if data == nil {
		return ""
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		panic(fmt.Sprintf("a patch is not JSON: %v: %s", err, data))
	}
	return text(v)
}

// add adds a call to the list of its kind.
func (o *outcome) add(c real.Call) {
	n := newCall(c)
	switch c.Kind {
	case real.Adopt, real.Release:
		o.Claims = append(o.Claims, n)
	case real.StripToDelete, real.Delete:
		o.Deletions = append(o.Deletions, n)
	case real.Create:
		o.Creations = append(o.Creations, n)
	case real.WriteStatus:
		o.Statuses = append(o.Statuses, n)
	case real.Strip:
		if len(o.Strips) == 0 {
			o.StoredFirst = len(o.Statuses)
		}
		o.Strips = append(o.Strips, n)
	default:
		panic("an unknown kind of call: " + c.Kind)
	}
}

// finish sorts the lists that have no order.
func (o *outcome) finish() {
	byPod := func(a, b call) int { return cmp.Compare(a.Pod, b.Pod) }
	for _, calls := range [][]call{o.Claims, o.Deletions, o.Strips} {
		slices.SortStableFunc(calls, byPod)
	}
	slices.SortFunc(o.PodEvents, func(a, b real.Event) int {
		return cmp.Or(cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	slices.Sort(o.Freed)
}

// newOutcome converts the output of the real controller to an outcome.
func newOutcome(in *real.Input, out *real.Output) outcome {
	o := outcome{
		Events:    out.Events,
		PodEvents: slices.Clone(out.PodEvents),
		Metrics:   map[string]float64{},
		Finished:  out.Memory.Finished,
		Failed:    out.Err != nil,
	}
	for _, c := range out.Calls {
		if c.Kind == real.Create {
			// The URL of the request contains the namespace.
			pod := *c.Object
			pod.Namespace = in.Job.Namespace
			c.Object = &pod
		}
		c.Patch = o.guarded(in, c)
		o.add(c)
	}
	if len(out.Requeues) > 0 {
		o.Requeue = slices.Min(out.Requeues)
	}
	if out.Memory.Backoff != nil {
		o.Backoff = record(out.Memory.Backoff.Failures, out.Memory.Backoff.LastFailure)
	}
	for name, n := range out.Metrics {
		// The caller counts syncs.
		if label, counts := strings.CutPrefix(name, `job_syncs_total{action="`); counts {
			o.Action, _, _ = strings.Cut(label, `"`)
			continue
		}
		o.Metrics[name] = n
	}
	o.finish()
	return o
}

// record returns a record whose time is in UTC. A nil time stays nil.
func record(failures int32, last *time.Time) real.Record {
	r := real.Record{Failures: failures}
	if last != nil && !last.IsZero() {
		utc := last.UTC()
		r.LastFailure = &utc
	}
	return r
}

// guarded adds the preconditions of jobfate's patches to a patch of the real controller: the UID of
// the pod and, if the pod must not be counted or not be counted again, the resource version. If the
// sync has adopted the pod, that is the version in the answer to the adoption. This implements the
// divergence guarded-patches.
func (o *outcome) guarded(in *real.Input, c real.Call) []byte {
	if c.Patch == nil {
		return nil
	}
	i := slices.IndexFunc(in.Pods, func(p *corev1.Pod) bool { return p.Name == c.Pod })
	names, version := fmt.Sprintf(`"uid":%q,`, in.Pods[i].UID), in.Pods[i].ResourceVersion
	if slices.ContainsFunc(o.Claims, func(claim call) bool { return claim.Kind == real.Adopt && claim.Pod == c.Pod }) {
		version = vectors.PendingVersion
	}
	if c.Kind == real.StripToDelete || c.Kind == real.Adopt {
		names += fmt.Sprintf(`"resourceVersion":%q,`, version)
	}
	const head = `"metadata":{`
	return bytes.Replace(c.Patch, []byte(head), []byte(head+names), 1)
}
