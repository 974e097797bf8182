package lifetime

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/fixture"
	"github.com/jobfate/jobfate/tracking"
)

const defaultChecks = 2500

// TestMain raises the number of lives from rapid's 100, unless a flag sets it.
func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", strconv.Itoa(defaultChecks))
	// Without flags the lives are the same in each run, so that a failure is due to the latest change.
	_ = flag.Set("rapid.seed", "1")
	m.Run()
}

// reach counts what the lives reached.
type reach map[string]int

func (r reach) print(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(r)) {
		t.Logf("%8d %s", r[name], name)
	}
}

// A story says what has happened, one event in a line.
type story []string

func (s story) String() string { return strings.Join(s, "\n") }

type uids map[types.UID]bool

// builtin holds the finalizer, labels and annotations of the built-in Job controller.
var builtin tracking.Keys

var text, among, chance = podtest.ToJSON, fixture.Among, fixture.Chance

func isTracking(finalizer string) bool { return finalizer == batchv1.JobTrackingFinalizer }

func describe(p *corev1.Pod) string {
	del := ""
	if p.DeletionTimestamp != nil {
		del = " deleted"
	}
	if !builtin.HasFinalizer(p) {
		del += " stripped"
	}
	return fmt.Sprintf("%s %s%s index %d annotations %v rv %s", p.UID, p.Status.Phase, del, builtin.IndexOf(p), p.Annotations, p.ResourceVersion)
}

func pick[T any](t *rapid.T, label string, values ...T) T {
	return values[among(t, len(values), label)]
}
