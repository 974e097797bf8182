package simulation

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func unbounded(s *batchv1.JobSpec) {
	s.CompletionMode, s.Completions, s.Parallelism = new(batchv1.NonIndexedCompletion), nil, new(int32(math.MaxInt32))
}

func containers(n int) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) {
		for len(s.Template.Spec.Containers) < n {
			s.Template.Spec.Containers = append(s.Template.Spec.Containers, corev1.Container{Name: fmt.Sprint("c", len(s.Template.Spec.Containers)), Image: "image"})
		}
	}
}

// TestSlim simulates a Job whose template is larger than a mebibyte. Its pods do not contain the
// whole template, and have the same outcomes as the pods of a small template.
func TestSlim(t *testing.T) {
	large := func(s *batchv1.JobSpec) {
		s.ManualSelector, s.Selector = new(true), &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}, MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "c", Operator: metav1.LabelSelectorOpExists}}}
		s.Template.Labels = map[string]string{"a": "b", "c": "d", "e": "f"}
		s.Template.Annotations = map[string]string{"note": strings.Repeat("x", 1<<20)}
		s.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "E", Value: strings.Repeat("x", 1<<20)}}
		s.Template.Spec.InitContainers = []corev1.Container{{Name: "sidecar", Image: "i", RestartPolicy: new(corev1.ContainerRestartPolicyAlways), Args: []string{strings.Repeat("x", 1<<20)}}}
	}
	s := Scenario{Pods: []Behaviour{{Indexes: "1", Exits: []int32{42}}}}
	p, err := newPlay(indexed(3, 1, ignoreDisruptions, large), s, Settings{KeepCounted: true})
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.run()
	if err != nil {
		t.Fatal(err)
	}
	want, err := Play(indexed(3, 1, ignoreDisruptions), s, Settings{})
	if err != nil || drawn(got) != drawn(want) {
		t.Errorf("got %v and\n%s\nwant\n%s", err, drawn(got), drawn(want))
	}
	for _, pod := range p.cluster.Pods() {
		if size := pod.Size(); size > 10_000 {
			t.Errorf("pod %s has %d bytes", pod.Name, size)
		}
	}
}

// TestBounds checks that every simulation is bounded, and that the error names the field and
// the bound.
func TestBounds(t *testing.T) {
	loops := []Behaviour{{Exits: []int32{1}, Durations: []metav1.Duration{seconds(1)}}}
	for _, tc := range []struct {
		reason   string
		job      *batchv1.Job
		scenario Scenario
		bounds   Bounds
		field    string
		want     string
	}{
		{"parallelism", indexed(1, 1, unbounded), Scenario{}, Bounds{}, "AtOnce", "spec.parallelism: 2147483647 pods at once; want at most 20000"},
		{"parallelism and completions", indexed(math.MaxInt32, 1, func(s *batchv1.JobSpec) { s.CompletionMode, s.Parallelism = nil, new(int32(math.MaxInt32)) }), Scenario{}, Bounds{}, "AtOnce",
			"spec.parallelism: 2147483647 pods at once; want at most 20000"},
		{"an event", indexed(1, 1, unbounded, func(s *batchv1.JobSpec) { s.Parallelism = new(int32(1)) }),
			Scenario{Events: []Event{{At: seconds(3), Suspend: new(false)}, {At: seconds(5), Parallelism: new(int32(20_001))}}}, Bounds{}, "AtOnce",
			"events[1]: spec.parallelism: 20001 pods at once; want at most 20000"},
		{"a bound of the caller's", indexed(5, 5), Scenario{}, Bounds{AtOnce: 4}, "AtOnce", "spec.parallelism: 5 pods at once; want at most 4"},
		{"pods of many containers", indexed(200, 200, containers(1000)), Scenario{}, Bounds{AtOnce: 10_000}, "AtOnce", "spec.parallelism: 200 pods at once; want at most 100 of 1000 containers each"},
		{"pods", indexed(1, 1, perIndex(math.MaxInt32)), Scenario{Pods: loops}, Bounds{Pods: 5}, "Pods", "gave up at 5m20s of virtual time: there were more than 5 pods in all"},
		{"steps", indexed(1, 1, perIndex(math.MaxInt32)), Scenario{Pods: loops}, Bounds{Steps: 100}, "Steps", "gave up at 5m22s of virtual time: the simulation took more than 100 steps"},
		{"events", indexed(1, 1), Scenario{Events: slices.Repeat([]Event{{Suspend: new(false)}}, 10_001)}, Bounds{}, "Events", "events: there are 10001; want at most 10000"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			begun := time.Now()
			_, err := Play(tc.job, tc.scenario, Settings{Bounds: tc.bounds})
			var bound *BoundError
			if !errors.As(err, &bound) || err.Error() != tc.want || bound.Field != tc.field {
				t.Errorf("got %v, want a bound of %s: %s", err, tc.field, tc.want)
			}
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
	// A high parallelism is accepted if completions limit the number of pods.
	if r, err := Play(indexed(3, 3, nonIndexed, func(s *batchv1.JobSpec) { s.Parallelism = new(int32(math.MaxInt32)) }), Scenario{}, Settings{}); err != nil || r.Totals.Pods != 3 {
		t.Errorf("got %v, want 3 pods", err)
	}
}
