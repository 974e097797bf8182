// Package slowpath compares the incremental decision of a Machine with a decision from scratch on
// the same snapshot. It is for test kits: it panics at the first difference.
package slowpath

import (
	"fmt"
	"reflect"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/jobtest/inside"
	"github.com/jobfate/jobfate/machine"
)

// Check makes a Machine panic if it decides differently from [decide.Job].
func Check(m *machine.Machine) { inside.Decide(m, compared) }

func compared(s decide.Snapshot, o decide.Option, usual inside.Usual) (decide.Decision, error) {
	got, err := usual(s)
	want, wantErr := decide.Job(s, o)
	if text, wantText := fmt.Sprint(err), fmt.Sprint(wantErr); text != wantText {
		panic(fmt.Sprintf("the Machine's decision returns error %s, a decision from scratch returns %s", text,
			wantText))
	}
	if diff := Diff(got, want); diff != "" {
		panic("the Machine's decision differs from a decision from scratch:\n" + diff)
	}
	return got, err
}

// Diff describes how two decisions on the same snapshot differ, their facts included. It returns
// an empty string if they do not.
func Diff(got, want decide.Decision) (diff string) {
	for _, part := range [][2]reflect.Value{
		{reflect.ValueOf(got), reflect.ValueOf(want)},
		{reflect.ValueOf(factsOf(got)), reflect.ValueOf(factsOf(want))},
	} {
		for i := range part[0].NumField() {
			if !part[0].Type().Field(i).IsExported() {
				continue
			}
			name := part[0].Type().Field(i).Name
			a, b := comparable(part[0].Field(i).Interface()), comparable(part[1].Field(i).Interface())
			if !reflect.DeepEqual(a, b) {
				diff += fmt.Sprintf("%s: got %+v, want %+v\n", name, a, b)
			}
		}
	}
	a, b := settled(got), settled(want)
	if !reflect.DeepEqual(a, b) {
		diff += fmt.Sprintf("after the finalizers are removed: got %+v, want %+v\n", a, b)
	}
	return diff + diffPods(got.Facts(), want.Facts())
}

// settled returns the decision on a Job after all finalizers are removed.
func settled(d decide.Decision) decide.Settled {
	gone := make([]types.UID, len(d.Strip))
	for i, pod := range d.Strip {
		gone[i] = pod.UID
	}
	return d.Settle(gone...)
}

// diffPods compares the pods, and those that the next pods replace.
func diffPods(got, want *decide.Facts) string {
	if got == nil || want == nil {
		return ""
	}
	if a, b := got.Pods(), want.Pods(); !reflect.DeepEqual(a, b) || !reflect.DeepEqual(got.Others(), want.Others()) {
		return fmt.Sprintf("pods: got %+v, want %+v\n", a, b)
	}
	for _, r := range want.Pods() {
		a, b := got.Predecessor(r.Index), want.Predecessor(r.Index)
		if (a == nil) != (b == nil) || a != nil && a.Pod != b.Pod {
			return fmt.Sprintf("index %d: the next pod replaces %+v, want %+v\n", r.Index, a, b)
		}
	}
	return ""
}

func factsOf(d decide.Decision) decide.Facts {
	if f := d.Facts(); f != nil {
		return *f
	}
	return decide.Facts{}
}

// creation is a creation with its pod.
type creation struct {
	Index    int32
	Replaces types.UID
	Pod      *corev1.Pod
}

// comparable returns a value that reflect.DeepEqual compares as users see it.
func comparable(value any) any {
	switch value := value.(type) {
	case []decide.Creation:
		var all []creation
		for i, c := range value {
			next := creation{Index: c.Index}
			if c.Replaces != nil {
				next.Replaces = c.Replaces.UID
			}
			if i == 0 { // the others are made in the same way
				next.Pod = c.Pod()
			}
			all = append(all, next)
		}
		return all
	case decide.InFlight:
		return nil // an input
	case *batchv1.Job, *batchv1.JobStatus:
		return value // their texts take most of the time of a search
	case fmt.Stringer:
		return value.String()
	}
	if v := reflect.ValueOf(value); v.Kind() == reflect.Slice && v.Len() == 0 {
		return nil
	}
	return value
}
