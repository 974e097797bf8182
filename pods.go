package jobfate

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/tracking"
)

// readPods makes the census: one pass over the pods. It reports whether they can
// be understood.
func (v *view) readPods(pods []*corev1.Pod) bool {
	v.census = tracking.NewCensus(tracking.Lens{
		Indexed:           v.indexed,
		Completions:       v.limitOfIndexes(),
		PerIndex:          v.perIndex,
		ReplaceFailedOnly: v.replaceFailedOnly,
		Restarts:          v.job.Spec.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure,
		Policy:            v.policy,
		Uncounted:         v.uncounted,
		Stripped:          v.stripped(),
	}, len(pods))
	roll := v.census.Read(v.owner, pods)
	v.foreign = roll.Foreign
	for _, r := range roll.Claims {
		v.claims = append(v.claims, Claim{Pod: r.Pod, Relation: r.Relation, owner: v.controller.Reference(v.job)})
	}
	slices.SortFunc(v.claims, func(a, b Claim) int { return cmp.Compare(a.Pod.UID, b.Pod.UID) })
	return !roll.Broken
}

func (v *view) limitOfIndexes() int32 {
	if !v.indexed {
		return 0
	}
	return *v.completions
}

// stripped tells which finalizers have been removed though the pods still show
// them; nil when there are none.
func (v *view) stripped() func(*corev1.Pod) bool {
	if len(v.inFlight.Stripped) == 0 {
		return nil
	}
	set := make(map[types.UID]struct{}, len(v.inFlight.Stripped))
	for _, uid := range v.inFlight.Stripped {
		set[uid] = struct{}{}
	}
	return func(pod *corev1.Pod) bool { _, ok := set[pod.UID]; return ok }
}

// checkPods says what is wrong with the pods.
func checkPods(pods []*corev1.Pod) (errs field.ErrorList) {
	path := field.NewPath("pods")
	for i, pod := range pods {
		switch {
		case pod == nil:
			errs = append(errs, field.Required(path.Index(i), "the pod is nil"))
		case pod.UID == "":
			errs = append(errs, field.Required(path.Index(i).Child("metadata", "uid"), "pods are counted by their UID"))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	if i := tracking.FirstRepeated(pods); i >= 0 {
		errs = append(errs, field.Duplicate(path.Index(i).Child("metadata", "uid"), pods[i].UID))
	}
	return errs
}
