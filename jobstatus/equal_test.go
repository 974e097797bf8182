package jobstatus_test

import (
	"reflect"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
)

// leaf is a value inside a status. reach returns the same value of another status.
type leaf struct {
	path  string
	reach func(root reflect.Value) reflect.Value
}

// leaves returns every value of a status, including fields that later releases add.
func leaves(t *testing.T, path string, reach func(reflect.Value) reflect.Value, v reflect.Value) []leaf {
	t.Helper()
	if v.Type() == reflect.TypeFor[metav1.Time]() {
		return []leaf{{path, reach}}
	}
	var out []leaf
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			out = append(out, leaves(t, path+"."+v.Type().Field(i).Name, func(root reflect.Value) reflect.Value { return reach(root).Field(i) }, v.Field(i))...)
		}
	case reflect.Pointer:
		if v.IsNil() {
			t.Fatalf("podtest.FullStatus does not set %s, which this release of the API has", path)
		}
		out = append(out, leaf{path + " (pointer)", reach})
		out = append(out, leaves(t, path, func(root reflect.Value) reflect.Value { return reach(root).Elem() }, v.Elem())...)
	case reflect.Slice:
		if v.Len() == 0 {
			t.Fatalf("podtest.FullStatus does not set %s, which this release of the API has", path)
		}
		out = append(out, leaf{path + " (length)", reach})
		out = append(out, leaves(t, path+"[0]", func(root reflect.Value) reflect.Value { return reach(root).Index(0) }, v.Index(0))...)
	default:
		if v.IsZero() {
			t.Fatalf("podtest.FullStatus does not set %s, which this release of the API has", path)
		}
		out = append(out, leaf{path, reach})
	}
	return out
}

// k#125089, k#125185, k#121342: a change of ready or terminating alone was never written.
// Here each field makes a difference.
func TestEqual_everyField(t *testing.T) {
	self := func(root reflect.Value) reflect.Value { return root }
	all := leaves(t, "status", self, reflect.ValueOf(FullStatus()).Elem())
	if len(all) < 25 {
		t.Fatalf("found only %d values: %v", len(all), all)
	}
	for _, l := range all {
		changed := FullStatus()
		v := l.reach(reflect.ValueOf(changed).Elem())
		v.SetZero()
		if jobstatus.Equal(changed, FullStatus()) || jobstatus.Equal(FullStatus(), changed) {
			t.Errorf("statuses with and without %s are Equal", l.path)
		}
	}
	Same(t, "two copies of a status are Equal", jobstatus.Equal(FullStatus(), FullStatus()), true)
	// The same status, with all times in another zone.
	elsewhere := FullStatus()
	for _, l := range all {
		if at, ok := l.reach(reflect.ValueOf(elsewhere).Elem()).Addr().Interface().(*metav1.Time); ok {
			at.Time = at.In(time.FixedZone("CET", 3600))
		}
	}
	Same(t, "the same status in another zone is Equal", jobstatus.Equal(elsewhere, FullStatus()), true)
}

func TestEqual(t *testing.T) {
	none := &batchv1.UncountedTerminatedPods{}
	for _, tc := range []struct {
		reason string
		a, b   *batchv1.JobStatus
		want   bool
	}{
		{"both nil", nil, nil, true},
		{"nil and an empty status", nil, &batchv1.JobStatus{}, false},
		{"no lists and empty lists", &batchv1.JobStatus{}, &batchv1.JobStatus{UncountedTerminatedPods: none}, true},
		{"empty lists, one of them not nil", &batchv1.JobStatus{UncountedTerminatedPods: none}, &batchv1.JobStatus{UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Failed: []types.UID{}}}, true},
		{"no conditions", &batchv1.JobStatus{}, &batchv1.JobStatus{Conditions: []batchv1.JobCondition{}}, true},
		{"no failed indexes, and no list of them", &batchv1.JobStatus{FailedIndexes: new("")}, &batchv1.JobStatus{}, false},
		{"zero and unknown", &batchv1.JobStatus{Ready: new(int32(0))}, &batchv1.JobStatus{}, false},
		{"the same time in two zones", &batchv1.JobStatus{StartTime: new(After(0))}, &batchv1.JobStatus{StartTime: new(metav1.NewTime(Noon().Local()))}, true},
		{"another UID in the list", &batchv1.JobStatus{UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Failed: []types.UID{"a"}}}, &batchv1.JobStatus{UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Failed: []types.UID{"b"}}}, false},
		{"conditions in another order", &batchv1.JobStatus{Conditions: []batchv1.JobCondition{Yes("A"), Yes("B")}}, &batchv1.JobStatus{Conditions: []batchv1.JobCondition{Yes("B"), Yes("A")}}, false},
	} {
		Same(t, tc.reason+": Equal", jobstatus.Equal(tc.a, tc.b), tc.want)
		Same(t, tc.reason+", the other way round: Equal", jobstatus.Equal(tc.b, tc.a), tc.want)
	}
}
