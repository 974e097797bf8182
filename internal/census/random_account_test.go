package census_test

import (
	"math"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

func drawInputs(t *rapid.T, w world) tracking.AccountInputs {
	inputs := tracking.AccountInputs{
		Ending:   rapid.SampledFrom([]batchv1.JobConditionType{"", "", batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget}).Draw(t, "ending"),
		Deleting: oneIn(t, 5, "deleting"),
		Cap:      rapid.IntRange(1, 6).Draw(t, "cap"),
		Removals: rapid.SampledFrom([]int{0, 0, 1, 2, 100}).Draw(t, "removals"),
	}
	inputs.Counted = drawSet(t, "counted")
	return inputs
}

// removable returns which finalizers may be removed, by KEP-2307 § Algorithm, § Deleted
// Jobs, and KEP-3850 § Tracking the number of failures per index.
func (w world) removable(inputs tracking.AccountInputs, waiting map[int64]types.UID) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool {
		switch {
		case !w.tracked(pod):
			return false
		case inputs.Deleting, inputs.Ending != "", w.succeeded(pod):
			return true
		case !w.failed(pod):
			return false
		}
		for _, uid := range waiting {
			if uid == pod.UID {
				return false
			}
		}
		return true
	}
}

// recorded returns how a pod is newly recorded: in the list "succeeded" or "failed", as an
// "index", or not at all ("").
func (w world) recorded(pod *corev1.Pod, inputs tracking.AccountInputs) string {
	switch {
	case !w.valid(pod):
		return ""
	case w.succeeded(pod) && w.Indexed:
		if inputs.Counted.Contains(int32(index64(pod))) {
			return ""
		}
		return "index"
	case w.listed(pod):
		return ""
	case w.succeeded(pod):
		return "succeeded"
	case (w.failed(pod) || inputs.Ending == batchv1.JobFailureTarget) && w.action(pod) != batchv1.PodFailurePolicyActionIgnore:
		return "failed"
	}
	return ""
}

// account computes Account pod by pod.
func (w world) account(inputs tracking.AccountInputs, waiting map[int64]types.UID) tracking.Account {
	a := tracking.Account{Settled: tracking.Settled{Lists: Lists(nil, nil)}}
	seen := map[types.UID]bool{"": true}
	tracked := UIDsOf(w.filter(w.tracked))
	count := func(uids []types.UID, counter *int32) (left []types.UID) {
		for _, uid := range uids {
			switch {
			case seen[uid]:
			case slices.Contains(tracked, uid):
				left = append(left, uid)
			default:
				*counter++
			}
			seen[uid] = true
		}
		return left
	}
	a.Lists.Failed = count(w.Failed, &a.Failed) // a UID in both lists has failed
	a.Lists.Succeeded = count(w.Succeeded, &a.Succeeded)
	indexes := 0
	size := func() int { return indexes + len(a.Lists.Succeeded) + len(a.Lists.Failed) }
	full := size() >= inputs.Cap
	candidates := w.sorted(w.filter(w.removable(inputs, waiting)))
	for _, pod := range candidates {
		if inputs.Removals > 0 && len(a.Strip) == inputs.Removals {
			break
		}
		if full && !w.listed(pod) {
			continue
		}
		a.Strip = append(a.Strip, pod)
		how := w.recorded(pod, inputs)
		switch how {
		case "index":
			indexes++
		case "succeeded":
			a.Lists.Succeeded = append(a.Lists.Succeeded, pod.UID)
		case "failed":
			a.Lists.Failed = append(a.Lists.Failed, pod.UID)
		}
		if how != "" && !w.listed(pod) {
			a.Recorded++
		}
		handled := !w.listed(pod) && w.valid(pod) && !w.succeeded(pod) && (w.failed(pod) || inputs.Ending == batchv1.JobFailureTarget)
		if action := w.action(pod); handled && action != "" {
			if a.Handled == nil {
				a.Handled = map[batchv1.PodFailurePolicyAction]int{}
			}
			a.Handled[action]++
		}
		if !full && size() >= inputs.Cap {
			a.Full = true
			break
		}
	}
	a.Deferred = len(candidates) - len(a.Strip)
	a.Full = a.Full || a.Deferred > 0 || inputs.Removals > 0 && len(a.Strip) == inputs.Removals
	return a
}

func TestRandom_account(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		inputs := drawInputs(t, w)
		c := w.census()
		completed, failed := drawSet(t, "completed"), drawSet(t, "failed")
		results := c.IndexResults(completed, failed)
		a := c.Account(inputs)
		Same(t, "account", a, w.account(inputs, w.predecessors(w.settled(results))))

		before := len(readUncounted(Lists(w.Succeeded, w.Failed)).Listed)
		checkLists(t, a.Lists, max(before, inputs.Cap))
		recorded := len(a.Lists.Succeeded) + len(a.Lists.Failed) + int(a.Succeeded+a.Failed) - before
		if recorded > a.Recorded || !w.Indexed && recorded != a.Recorded {
			t.Errorf("%d UIDs are new, Recorded = %d", recorded, a.Recorded)
		}
		for _, pod := range a.Strip {
			if !w.tracked(pod) {
				t.Errorf("%s is in Strip, but has no finalizer", pod.UID)
			}
		}

		// The order of the pods does not matter.
		w.Pods = rapid.Permutation(w.Pods).Draw(t, "other order")
		again := w.census()
		again.IndexResults(completed, failed)
		Same(t, "account in another order", again.Account(inputs), a)
	})
}

// checkLists: "uniquely identify finished Pods".
func checkLists(t *rapid.T, l *batchv1.UncountedTerminatedPods, limit int) {
	seen := map[types.UID]bool{}
	for _, uid := range slices.Concat(l.Succeeded, l.Failed) {
		if seen[uid] || uid == "" {
			t.Errorf("%q is empty or listed twice: %v", uid, l)
		}
		seen[uid] = true
	}
	if len(seen) > limit {
		t.Errorf("the lists hold %d UIDs, want at most %d", len(seen), limit)
	}
}

func TestRandom_settle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		a := w.census().Account(drawInputs(t, w))
		before := Lists(slices.Clone(a.Lists.Succeeded), slices.Clone(a.Lists.Failed))
		gone := UIDs("stranger")
		for _, pod := range a.Strip {
			if rapid.Bool().Draw(t, "gone") {
				gone = append(gone, pod.UID)
			}
		}
		s := a.Settle(gone)
		isGone := func(uid types.UID) bool { return slices.Contains(gone, uid) }
		left := func(list []types.UID) []types.UID { return slices.DeleteFunc(slices.Clone(list), isGone) }
		Same(t, "left as succeeded", len(s.Lists.Succeeded), len(left(before.Succeeded)))
		Same(t, "left as failed", len(s.Lists.Failed), len(left(before.Failed)))
		Same(t, "gained as succeeded", int(s.Succeeded), len(before.Succeeded)-len(s.Lists.Succeeded))
		Same(t, "gained as failed", int(s.Failed), len(before.Failed)-len(s.Lists.Failed))
		checkLists(t, s.Lists, math.MaxInt)
		Same(t, "the account's own lists", a.Lists, before)
	})
}

func TestRandom_inputsAreNotChanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		inputs := drawInputs(t, w)
		in := Lists(w.Succeeded, w.Failed)
		before := in.DeepCopy()
		var pods []*corev1.Pod
		for _, pod := range w.Pods {
			pods = append(pods, pod.DeepCopy())
		}
		order := slices.Clone(w.Pods)

		c := w.census()
		a := c.Account(inputs)
		for i := range a.Lists.Succeeded { // the caller owns the lists
			a.Lists.Succeeded[i] = "overwritten"
		}
		for i := range a.Lists.Failed {
			a.Lists.Failed[i] = "overwritten"
		}
		a.Lists.Failed = append(a.Lists.Failed, "appended")

		Same(t, "lists", in, before)
		Same(t, "pods", w.Pods, pods)
		if !slices.Equal(order, w.Pods) {
			t.Errorf("the pods are in another order")
		}
		Same(t, "a second account", c.Account(inputs), w.census().Account(inputs))
	})
}
