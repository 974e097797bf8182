// Package slowpath compares the incremental decision of a Machine with a decision from scratch on
// the same snapshot. It is for test kits: it panics at the first difference.
package slowpath

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/inside"
	"github.com/jobfate/jobfate/machine"
)

// Check makes a Machine panic if one of its decisions differs from [decide.Job]. It compares one of a number of
// decisions, by it and its clones.
func Check(m *machine.Machine, one uint32) {
	var decisions atomic.Uint32
	inside.Decide(m, func(s decide.Snapshot, o decide.Option, usual inside.Usual) (decide.Decision, error) {
		if decisions.Add(1)%one != 0 {
			return usual(s)
		}
		d, diff, err := Compared(s, o, usual)
		if diff != "" {
			panic("the Machine's decision differs from a decision from scratch:\n" + diff)
		}
		return d, err
	})
}

// Compared returns the usual decision, and how it or its error differs from a decision from scratch.
func Compared(s decide.Snapshot, o decide.Option, usual inside.Usual) (got decide.Decision, diff string, err error) {
	got, err = usual(s)
	want, wantErr := decide.Job(s, o)
	if text, wantText := fmt.Sprint(err), fmt.Sprint(wantErr); text != wantText {
		diff = fmt.Sprintf("error: got %s, want %s\n", text, wantText)
	}
	return got, diff + Diff(got, want), err
}

// Diff describes how two decisions on the same snapshot differ, their facts included. It returns
// an empty string if they do not.
func Diff(got, want decide.Decision) (diff string) {
	diff = diffFields(reflect.ValueOf(&got).Elem(), reflect.ValueOf(&want).Elem(), ofDecision)
	a, b := got.Settle(podtest.UIDsOf(got.Strip)...), want.Settle(podtest.UIDsOf(want.Strip)...)
	if !reflect.DeepEqual(a, b) {
		diff += fmt.Sprintf("after the finalizers are removed: got %+v, want %+v\n", a, b)
	}
	facts, wantFacts := got.Facts(), want.Facts()
	if facts == nil || wantFacts == nil {
		if facts != wantFacts {
			diff += fmt.Sprintf("facts: got %+v, want %+v\n", facts, wantFacts)
		}
		return diff
	}
	return diff + diffFields(reflect.ValueOf(facts).Elem(), reflect.ValueOf(wantFacts).Elem(), ofFacts) +
		diffPods(facts, wantFacts)
}

// The fields that are compared.
var (
	ofDecision = exported(reflect.TypeFor[decide.Decision]())
	ofFacts    = exported(reflect.TypeFor[decide.Facts]())
)

// exported returns the exported fields of a struct, and instead of a part of the facts its fields.
func exported(of reflect.Type) (all []reflect.StructField) {
	for _, field := range reflect.VisibleFields(of) {
		switch {
		case !field.IsExported():
		case strings.HasSuffix(field.Type.Name(), "Facts"):
			for _, part := range exported(field.Type) {
				part.Index = append(slices.Clone(field.Index), part.Index...)
				all = append(all, part)
			}
		default:
			all = append(all, field)
		}
	}
	return all
}

func diffFields(got, want reflect.Value, fields []reflect.StructField) (diff string) {
	for i := range fields {
		a, b := got.FieldByIndex(fields[i].Index), want.FieldByIndex(fields[i].Index)
		if identical(a, b) {
			continue
		}
		if a, b := comparable(a.Interface()), comparable(b.Interface()); !reflect.DeepEqual(a, b) {
			diff += fmt.Sprintf("%s: got %+v, want %+v\n", fields[i].Name, a, b)
		}
	}
	return diff
}

// identical finds most equal values without a copy or a text of them, which take most of the time of a search.
func identical(a, b reflect.Value) bool {
	switch {
	case a.Kind() == reflect.Slice:
		return a.Len() == 0 && b.Len() == 0
	case a.Type() == reflect.TypeFor[indexset.Set]():
		return a.Addr().Interface().(*indexset.Set).Equal(b.Interface().(indexset.Set))
	case a.Kind() == reflect.Struct:
		return a.Type().Comparable() && a.Interface() == b.Interface()
	}
	return a.Comparable() && a.Equal(b)
}

// diffPods compares the pods, and those that the next pods replace.
func diffPods(got, want *decide.Facts) string {
	all, wanted := got.Pods(), want.Pods()
	same := func(a, b *decide.PodFacts) bool { return *a == *b || reflect.DeepEqual(a, b) }
	if !slices.EqualFunc(all, wanted, same) || !slices.Equal(got.Others(), want.Others()) {
		return fmt.Sprintf("pods: got %+v, want %+v\n", all, wanted)
	}
	for _, r := range wanted {
		a, b := got.Predecessor(r.Index), want.Predecessor(r.Index)
		if (a == nil) != (b == nil) || a != nil && a.Pod != b.Pod {
			return fmt.Sprintf("index %d: the next pod replaces %+v, want %+v\n", r.Index, a, b)
		}
	}
	return ""
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
		return value // their texts take long
	case fmt.Stringer:
		return value.String()
	}
	if v := reflect.ValueOf(value); v.Kind() == reflect.Slice && v.Len() == 0 {
		return nil
	}
	return value
}
