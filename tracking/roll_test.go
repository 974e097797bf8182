package tracking_test

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/tracking"
)

// Reading pods ahead, many at once, finds what reading them one by one finds.
func TestRandom_read(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		job := newJob()
		if oneIn(t, 3, "a selector of another kind") {
			job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "job", "tier": "x"}}
			if oneIn(t, 2, "with an expression") {
				job.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpExists}}
			}
		}
		owner := ownerOf(t, job)
		for i, pod := range w.Pods {
			for _, change := range []edit{label("app", "x"), label("tier", "x"), ownerless, controlledBy("other")} {
				if oneIn(t, 4, "changed") {
					change(w.Pods[i])
				}
			}
			w.Adopted[pod.UID] = false
		}
		w.Pods = slices.Concat(w.Pods, clones(w.Pods, rapid.IntRange(0, 8).Draw(t, "times")))

		want := tracking.NewCensus(w.lens(), 0)
		var roll tracking.Roll
		for _, pod := range w.Pods {
			switch relation := owner.Relation(pod); relation {
			case tracking.Foreign:
				roll.Foreign++
			case tracking.Owned:
				want.Add(pod, false)
			case tracking.Adoptable:
				want.Add(pod, true)
				roll.Claims = append(roll.Claims, tracking.Related{Pod: pod, Relation: relation})
			default:
				roll.Claims = append(roll.Claims, tracking.Related{Pod: pod, Relation: relation})
			}
		}

		used := tracking.NewCensus(w.lens(), len(w.Pods))
		same(t, "roll", used.Read(owner, w.Pods), roll)
		same(t, "counters", countersOf(used), countersOf(want))
		if !slices.Equal(used.Records, want.Records) {
			t.Errorf("records: got %v, want %v", used.Records, want.Records)
		}
		same(t, "active", used.Indexes(tracking.Active), want.Indexes(tracking.Active))
		same(t, "in order", podsIn(used.InOrder(0)), podsIn(want.InOrder(0)))
	})
}

func podsIn(records []*tracking.Record) (out []types.UID) {
	for _, r := range records {
		out = append(out, r.Pod.UID)
	}
	return out
}

// clones returns copies of the pods with other UIDs, so many times.
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

// "Decide returns an error, and no decision, for a snapshot that it cannot
// understand: … two pods with one UID"
func TestRead_broken(t *testing.T) {
	pods := func(n int) (out []*corev1.Pod) {
		for i := range n {
			out = append(out, newPod(fmt.Sprintf("uid-%d", i)))
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
		{"one has no UID", append(pods(40), newPod("")), true},
		{"two have one UID", append(pods(40), newPod("uid-39")), true},
		{"two foreign pods have one UID", append(pods(40), newPod("x", controlledBy("other")), newPod("x", controlledBy("other"))), true},
	} {
		c := tracking.NewCensus(tracking.Lens{}, len(tc.pods))
		pods := append([]*corev1.Pod{newPod("other", controlledBy("another"))}, tc.pods...)
		want := tracking.Roll{Broken: true}
		if !tc.want {
			want = tracking.Roll{Foreign: 1}
		}
		same(t, tc.reason, c.Read(ownerOf(t, newJob()), pods), want)
	}
}

// The order is that of Before where indexes are dense, where they are sparse, and
// where many pods share one.
func TestInOrder_spread(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, spread := range []int{1, 3, 100, 1 << 30} {
		var pods []*corev1.Pod
		for i := range 300 {
			pods = append(pods, newPod(fmt.Sprintf("uid-%03d", i*7919%1000), index(strconv.Itoa(r.Intn(spread)))))
		}
		pods = append(pods, newPod("no-index"), newPod("another"))
		c := take(tracking.Lens{Indexed: true, Completions: 1 << 30}, pods...)
		got := c.InOrder(tracking.Active)
		want := make([]*tracking.Record, 0, len(pods))
		for i := range c.Records {
			want = append(want, &c.Records[i])
		}
		slices.SortFunc(want, func(a, b *tracking.Record) int {
			if a.Before(b) {
				return -1
			}
			return 1
		})
		same(t, fmt.Sprintf("indexes below %d: in the order of Before", spread), slices.Equal(got, want), true)

		slow := map[int32]bool{}
		for _, rec := range c.Records {
			if rec.Index != tracking.NoIndex {
				slow[rec.Index] = true
			}
		}
		set := c.Indexes(tracking.Active)
		same(t, fmt.Sprintf("indexes below %d: number", spread), set.Len(), len(slow))
		for i := range slow {
			same(t, fmt.Sprintf("contains %d", i), set.Contains(i), true)
		}
	}
}

func TestSelector(t *testing.T) {
	values := []string{"", "x", "job-uid", "X.y-z_0", "-x", "x-", "a--b", "a b", "é", "0123456789012345678901234567890123456789012345678901234567890123"}
	keys := []string{"app", "app.kubernetes.io/name", "batch.kubernetes.io/controller-uid", "A/b", "a/b/c", "/x", "x/", "", "-a", "a..b", "a_b",
		"0123456789012345678901234567890123456789012345678901234567890123", "a.b./c"}
	for _, key := range keys {
		for _, value := range values {
			job := newJob()
			job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
			want, wantErr := metav1.LabelSelectorAsSelector(job.Spec.Selector)
			got, err := tracking.OwnerOf(job)
			if (err == nil) != (wantErr == nil) {
				t.Errorf("%q=%q: got error %v, want %v", key, value, err, wantErr)
			}
			if err != nil || wantErr != nil {
				continue
			}
			for _, set := range []labels.Set{nil, {key: value}, {key: value + "x"}, {key: ""}, {key + "x": value}} {
				if g, w := got.Selects(set), want.Matches(set); g != w {
					t.Errorf("%q=%q selects %v: got %v, want %v", key, value, set, g, w)
				}
			}
		}
	}
}

// A selector means what it means to the API, however many labels it has.
func TestSelector_ofManyLabels(t *testing.T) {
	keys := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g.h/i"})
	drawn := rapid.MapOfN(keys, rapid.SampledFrom([]string{"x", "y", ""}), 0, 6)
	rapid.Check(t, func(t *rapid.T) {
		job := newJob()
		job.Spec.Selector = &metav1.LabelSelector{MatchLabels: drawn.Draw(t, "selector")}
		want, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tracking.OwnerOf(job)
		if err != nil {
			t.Fatal(err)
		}
		set := drawn.Draw(t, "labels")
		if rapid.Bool().Draw(t, "those of the selector too") {
			maps.Copy(set, job.Spec.Selector.MatchLabels)
		}
		if g, w := got.Selects(set), want.Matches(labels.Set(set)); g != w {
			t.Fatalf("%v selects %v: got %v, want %v", job.Spec.Selector.MatchLabels, set, g, w)
		}
	})
}

// Two UIDs count as one only when they are equal, however their hashes turn out.
func TestFirstRepeated_namesOfAllKinds(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, name := range []func(i int) string{
		strconv.Itoa,
		func(i int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", i, i) },
		func(i int) string { return fmt.Sprintf("job-name-of-some-length-%d-0", i) },
		func(i int) string { return string(make([]byte, i)) + "x" }, // differ in length alone
	} {
		const n = 3000
		pods := make([]*corev1.Pod, n)
		for i := range pods {
			pods[i] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(name(i))}}
		}
		same(t, "all different", tracking.FirstRepeated(pods), -1)
		at := 1 + r.Intn(n-1)
		pods[at] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: pods[r.Intn(at)].UID}}
		same(t, "one repeated", tracking.FirstRepeated(pods), at)
	}
}
