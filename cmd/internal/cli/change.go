package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// statusFields lists the fields of a status except its conditions, in the order of the output.
// A value is nil if the field is unset.
var statusFields = [...]struct {
	name  string
	value func(*batchv1.JobStatus) any
}{
	{"startTime", func(s *batchv1.JobStatus) any { return instant(s.StartTime) }},
	{"completionTime", func(s *batchv1.JobStatus) any { return instant(s.CompletionTime) }},
	{"active", func(s *batchv1.JobStatus) any { return s.Active }},
	{"ready", func(s *batchv1.JobStatus) any { return valueOf(s.Ready) }},
	{"terminating", func(s *batchv1.JobStatus) any { return valueOf(s.Terminating) }},
	{"succeeded", func(s *batchv1.JobStatus) any { return s.Succeeded }},
	{"failed", func(s *batchv1.JobStatus) any { return s.Failed }},
	{"completedIndexes", func(s *batchv1.JobStatus) any { return s.CompletedIndexes }},
	{"failedIndexes", func(s *batchv1.JobStatus) any { return valueOf(s.FailedIndexes) }},
	{"uncountedTerminatedPods.succeeded", func(s *batchv1.JobStatus) any { return uncounted(s).Succeeded }},
	{"uncountedTerminatedPods.failed", func(s *batchv1.JobStatus) any { return uncounted(s).Failed }},
}

func instant(t *metav1.Time) any {
	if t == nil {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}

func valueOf[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// uncounted returns the lists, empty instead of nil: for the controller both are the same.
func uncounted(s *batchv1.JobStatus) batchv1.UncountedTerminatedPods {
	u := cmp.Or(s.UncountedTerminatedPods, &batchv1.UncountedTerminatedPods{})
	return batchv1.UncountedTerminatedPods{Succeeded: append([]types.UID{}, u.Succeeded...),
		Failed: append([]types.UID{}, u.Failed...)}
}

// changes returns the differences between two statuses. A nil next means no change.
func changes(old, next *batchv1.JobStatus) []change {
	out := []change{}
	if next == nil {
		return out
	}
	add := func(name string, was, is any) {
		if a, b := encode(was), encode(is); string(a) != string(b) {
			out = append(out, change{Field: name, Old: a, New: b, was: was, is: is})
		}
	}
	for _, f := range statusFields {
		add(f.name, f.value(old), f.value(next))
	}
	seen := map[batchv1.JobConditionType]bool{}
	for _, c := range slices.Concat(old.Conditions, next.Conditions) {
		if !seen[c.Type] {
			seen[c.Type] = true
			add("conditions."+string(c.Type), conditionOf(old, c.Type), conditionOf(next, c.Type))
		}
	}
	return out
}

func conditionOf(s *batchv1.JobStatus, t batchv1.JobConditionType) any {
	for _, c := range s.Conditions {
		if c.Type == t {
			return condition{Status: string(c.Status), Reason: c.Reason, Message: c.Message}
		}
	}
	return nil
}

// encode returns the JSON of a value. It is for values whose encoding cannot fail.
func encode(v any) json.RawMessage {
	out, _ := json.Marshal(v)
	return out
}

// line returns a change as text.
func (c change) line(all bool) string {
	return c.Field + ": " + plain(c.was, all) + " → " + plain(c.is, all)
}

// plain returns a value of a status as text.
func plain(v any, all bool) string {
	switch v := v.(type) {
	case nil:
		return "unset"
	case string:
		if v == "" {
			return `""`
		}
		return shortened(v, all)
	case []types.UID:
		if len(v) == 0 {
			return "none"
		}
		uids := mapped(v, func(uid types.UID) string { return string(uid) })
		if len(uids) > mostUIDs && !all {
			uids = append(uids[:mostUIDs], fmt.Sprintf("%d more", len(v)-mostUIDs))
		}
		return strings.Join(uids, ", ")
	case condition:
		return fmt.Sprintf("%s, %s: %s", v.Status, v.Reason, v.Message)
	}
	return fmt.Sprint(v)
}
