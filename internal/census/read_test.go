package census_test

import (
	"cmp"
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/classify"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// Reading pods with prefetching gives the same result as adding them one by one.
func TestRandom_read(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		job := NewJob()
		if OneIn(t, 3, "a selector of the user") {
			job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "job", "tier": "x"}}
			if OneIn(t, 2, "with an expression") {
				job.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpExists}}
			}
		}
		of := classifierOf(job)
		for i, pod := range w.Pods {
			for _, change := range []Edit{Label("app", "x"), Label("tier", "x"), Ownerless, ControlledBy("other")} {
				if OneIn(t, 4, "changed") {
					change(w.Pods[i])
				}
			}
			w.Adopted[pod.UID] = false
		}
		w.Pods = slices.Concat(w.Pods, clones(w.Pods, rapid.IntRange(0, 8).Draw(t, "times")))

		want := newCensus(w.classifier(), 0)
		type claim struct {
			pod      *corev1.Pod
			relation classify.Relation
		}
		var claims, got []claim
		for _, pod := range w.Pods {
			switch relation := of.Relation(pod); relation {
			case classify.Foreign:
			case classify.Owned:
				want.Add(pod, relation)
			case classify.Adoptable:
				want.Add(pod, relation)
				claims = append(claims, claim{pod, relation})
			default:
				claims = append(claims, claim{pod, relation})
			}
		}

		used := newCensus(w.classifierFor(of), len(w.Pods))
		Same(t, "read", used.Read(w.Pods), true)
		slices.SortFunc(claims, func(a, b claim) int { return cmp.Compare(a.pod.UID, b.pod.UID) })
		for _, r := range used.Claims() {
			got = append(got, claim{r.Pod, r.Relation})
		}
		Same(t, "claims", slices.Equal(got, claims), true)
		Same(t, "counters", countersOf(used), countersOf(want))
		if got, want := used.AllInOrder(), want.AllInOrder(); !slices.EqualFunc(got, want, census.EqualRecords) {
			t.Errorf("records: got %v, want %v", got, want)
		}
	})
}

// clones returns copies of each pod with other UIDs.
func clones(pods []*corev1.Pod, times int) (out []*corev1.Pod) {
	for n := range times {
		for _, pod := range pods {
			clone := pod.DeepCopy()
			clone.UID += types.UID("-" + strconv.Itoa(n))
			out = append(out, clone)
		}
	}
	return out
}

// Read and Replace reject nil pods, pods without a UID, and two pods with the same UID.
func TestRead_broken(t *testing.T) {
	pods := func(n int) (out []*corev1.Pod) {
		for i := range n {
			out = append(out, Pod(fmt.Sprintf("uid-%d", i)))
		}
		return out
	}
	for _, tc := range []struct {
		reason string
		pods   []*corev1.Pod
		want   bool
	}{
		{"no pods", nil, false},
		{"all different", pods(100), false},
		{"one is nil", append(pods(40), nil), true},
		{"one has no UID", append(pods(40), Pod("")), true},
		{"two have the same UID", append(pods(40), Pod("uid-39")), true},
		{"two foreign pods have the same UID", append(pods(40), Pod("x", ControlledBy("other")), Pod("x", ControlledBy("other"))), true},
	} {
		c := newCensus(classifierOf(NewJob()), len(tc.pods))
		pods := append([]*corev1.Pod{Pod("other", ControlledBy("another"))}, tc.pods...)
		Same(t, tc.reason, c.Read(pods), !tc.want)
		Same(t, tc.reason+": Replace", newCensus(classify.Classifier{}, 0).Replace(pods), !tc.want)
	}
}

// The records are in the order of Before if indexes are dense, if they are sparse, if many pods share one, and if many UIDs
// have the same start.
func TestInOrder_spread(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, spread := range []int{1, 3, 100, 1 << 30} {
		var pods []*corev1.Pod
		for i := range 300 {
			start := []string{"a", "long-start", "long-start-2", ""}[i%4]
			pods = append(pods, Pod(fmt.Sprintf("%s-%03d", start, i*7919%1000), Index(strconv.Itoa(r.Intn(spread)))))
		}
		pods = append(pods, Pod("no-index"), Pod("another"))
		c := take(classify.Classifier{Indexed: true, Completions: 1 << 30}, pods...)
		got := c.ActiveInOrder()
		want := make([]*census.Record, 0, len(pods))
		for _, pod := range pods {
			want = append(want, c.Of(pod.UID))
		}
		slices.SortFunc(want, func(a, b *census.Record) int { // without the shortcut that a Record takes
			return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Pod.UID, b.Pod.UID))
		})
		Same(t, fmt.Sprintf("indexes below %d: in order", spread), slices.Equal(got, want), true)
	}
}
