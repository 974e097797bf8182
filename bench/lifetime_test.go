package main

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

var someLifetimes = []lifetime{{200, 200, false}, {200, 200, true}, {200, 20, false}, {200, 20, true}}

// Every Job completes, with the pods that its lifetime asks for.
func TestLifetimes(t *testing.T) {
	var rows []lifetimeRow
	if err := measureLifetimes(3, []int{200}, func(r lifetimeRow) { rows = append(rows, r) }); err != nil {
		t.Fatal(err)
	}
	var got []lifetime
	for _, r := range rows {
		got = append(got, r.lifetime)
		for side, took := range r.took {
			if len(took) != 3 || r.took.least(side) <= 0 || r.syncs[side] < 5 {
				t.Errorf("%v, side %d: took %v in %d syncs, want three times and at least 5 syncs", r.lifetime, side, took, r.syncs[side])
			}
			if most := middle(r.whole); most <= r.took.median(side)/2 {
				t.Errorf("%v, side %d: %v in jobfate, of %v altogether", r.lifetime, side, r.took.median(side), most)
			}
		}
		if got, want := strings.Count(r.String(), "|"), strings.Count(strings.SplitN(lifetimeHeader, "\n", 2)[0], "|"); got != want {
			t.Errorf("%v: got %d columns, want %d", r, got-1, want-1)
		}
	}
	if len(got) != len(someLifetimes) {
		t.Fatalf("got %v, want %v", got, someLifetimes)
	}
	for i, want := range someLifetimes {
		if got[i] != want {
			t.Errorf("row %d: got %v, want %v", i, got[i], want)
		}
	}
}

// The caller that is timed leads a Job to where the one of the cluster leads it,
// in as many syncs.
func TestTimedCallerDoesTheSame(t *testing.T) {
	runtime.LockOSThread() // whose time the clock tells
	defer runtime.UnlockOSThread()
	for _, l := range someLifetimes {
		for _, perIndex := range []bool{false, true} {
			var statuses []*batchv1.JobStatus
			var syncs []int
			for _, controller := range []cluster.Controller{cluster.NewCaller(), newTimedCaller()} {
				life, err := l.begin(perIndex, controller)
				if err != nil {
					t.Fatal(err)
				}
				if err := together(life); err != nil {
					t.Fatalf("%v, per index %v: %v", l, perIndex, err)
				}
				statuses, syncs = append(statuses, &life.cluster.Job().Status), append(syncs, life.syncs)
			}
			if diff := cmp.Diff(statuses[0], statuses[1]); diff != "" {
				t.Errorf("%v, per index %v: ends in (-the caller of the cluster +the timed one):\n%s", l, perIndex, diff)
			}
			if syncs[0] != syncs[1] {
				t.Errorf("%v, per index %v: got %d syncs, want %d", l, perIndex, syncs[1], syncs[0])
			}
		}
	}
}

// A life that goes wrong is not measured.
func TestLifeGoesWrong(t *testing.T) {
	l := lifetime{indexes: 20, parallelism: 20, failing: true}
	begin := func() *life {
		life, err := l.begin(false, newTimedCaller())
		if err != nil {
			t.Fatal(err)
		}
		return life
	}
	stuck := begin()
	if err := stuck.cluster.EditJob(func(spec *batchv1.JobSpec) { *spec.Suspend = true }); err != nil {
		t.Fatal(err)
	}
	if err := together(stuck); !errors.Is(err, errStuck) {
		t.Errorf("a suspended Job: got %v, want %v", err, errStuck)
	}
	lucky := begin()
	lucky.failing = false // so no pod fails
	if err := together(lucky); err != nil {
		t.Fatal(err)
	}
	lucky.failing = true
	if err := lucky.check(); err == nil || !strings.Contains(err.Error(), "20 succeeded and 0 failed of 20 pods, want 20 indexes and 40 pods") {
		t.Errorf("a Job without failures: got %v", err)
	}
	for _, list := range []string{"", "0", "10,", "many"} {
		if got, err := numbers(list); err == nil {
			t.Errorf("%q: got %v, want an error", list, got)
		}
	}
}
