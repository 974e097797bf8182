package sync

import (
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/indexset"
)

var specFeatures = []feature{
	{"Indexed", func(c *trial) bool { return indexed(c.snapshot.Job) }},
	{"NonIndexed", func(c *trial) bool { return !indexed(c.snapshot.Job) }},
	onSpec("no completions", func(s *batchv1.JobSpec) bool { return s.Completions == nil }),
	onSpec("completions 0", func(s *batchv1.JobSpec) bool { return s.Completions != nil && *s.Completions == 0 }),
	onSpec("completions ≥ 1", func(s *batchv1.JobSpec) bool { return s.Completions != nil && *s.Completions > 0 }),
	onSpec("completions huge", func(s *batchv1.JobSpec) bool { return s.Completions != nil && *s.Completions > 1000 }),
	onSpec("parallelism 0", func(s *batchv1.JobSpec) bool { return s.Parallelism != nil && *s.Parallelism == 0 }),
	onSpec("parallelism ≥ 1", func(s *batchv1.JobSpec) bool { return s.Parallelism != nil && *s.Parallelism > 0 }),
	onSpec("backoffLimit 0", func(s *batchv1.JobSpec) bool { return s.BackoffLimit != nil && *s.BackoffLimit == 0 }),
	onSpec("backoffLimit ≥ 1", func(s *batchv1.JobSpec) bool { return s.BackoffLimit != nil && *s.BackoffLimit > 0 }),
	onSpec("no backoffLimit", func(s *batchv1.JobSpec) bool { return s.BackoffLimit == nil }),
	onSpec("backoffLimitPerIndex", func(s *batchv1.JobSpec) bool { return s.BackoffLimitPerIndex != nil }),
	onSpec("maxFailedIndexes", func(s *batchv1.JobSpec) bool { return s.MaxFailedIndexes != nil }),
	onSpec("podFailurePolicy", func(s *batchv1.JobSpec) bool { return s.PodFailurePolicy != nil }),
	onSpec("successPolicy", func(s *batchv1.JobSpec) bool { return s.SuccessPolicy != nil }),
	onSpec("replace Failed", func(s *batchv1.JobSpec) bool {
		return s.PodReplacementPolicy != nil && *s.PodReplacementPolicy == batchv1.Failed
	}),
	onSpec("replace TerminatingOrFailed", func(s *batchv1.JobSpec) bool {
		return s.PodReplacementPolicy != nil && *s.PodReplacementPolicy == batchv1.TerminatingOrFailed
	}),
	onSpec("suspend", func(s *batchv1.JobSpec) bool { return s.Suspend != nil && *s.Suspend }),
	onSpec("deadline", func(s *batchv1.JobSpec) bool { return s.ActiveDeadlineSeconds != nil }),
	onSpec("OnFailure", func(s *batchv1.JobSpec) bool {
		return s.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure
	}),
	onSpec("sidecar", func(s *batchv1.JobSpec) bool {
		return slices.ContainsFunc(s.Template.Spec.InitContainers, func(c corev1.Container) bool { return c.RestartPolicy != nil })
	}),
	{"deleted Job", func(c *trial) bool { return c.snapshot.Job.DeletionTimestamp != nil }},
	{"creations or deletions in flight", func(c *trial) bool { return c.snapshot.InFlight.Creations+c.snapshot.InFlight.Deletions > 0 }},
	{"removals in flight", func(c *trial) bool { return len(c.snapshot.InFlight.Stripped) > 0 }},
	{"remembered backoff", func(c *trial) bool { return c.snapshot.Backoff.Failures > 0 }},
	{"small caps", func(c *trial) bool { return c.limits.MaxUncounted > 0 }},
	{"other delays", func(c *trial) bool { return c.limits.Base > 0 }},
	{"other batch period", func(c *trial) bool { return c.limits.BatchPeriod > 0 }},
}

// gateFeatures returns the features of a release with the gates.
func gateFeatures() []feature {
	if !gated {
		return nil
	}
	return []feature{
		{"per-index backoff off", func(c *trial) bool { return c.noPerIndex }},
		{"replacement policy off", func(c *trial) bool { return c.noReplace }},
	}
}

// ruleFeatures returns the actions, operators and conditions of failure policies.
func ruleFeatures() (all []feature) {
	rule := func(name string, in func(*batchv1.PodFailurePolicyRule) bool) {
		all = append(all, onSpec(name, func(s *batchv1.JobSpec) bool {
			return s.PodFailurePolicy != nil && slices.ContainsFunc(s.PodFailurePolicy.Rules, func(r batchv1.PodFailurePolicyRule) bool { return in(&r) })
		}))
	}
	for _, action := range []batchv1.PodFailurePolicyAction{
		batchv1.PodFailurePolicyActionIgnore, batchv1.PodFailurePolicyActionCount,
		batchv1.PodFailurePolicyActionFailIndex, batchv1.PodFailurePolicyActionFailJob,
	} {
		rule("rule "+string(action), func(r *batchv1.PodFailurePolicyRule) bool { return r.Action == action })
	}
	for _, op := range []batchv1.PodFailurePolicyOnExitCodesOperator{batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn} {
		rule("rule "+string(op), func(r *batchv1.PodFailurePolicyRule) bool {
			return r.OnExitCodes != nil && r.OnExitCodes.Operator == op
		})
	}
	rule("rule on conditions", func(r *batchv1.PodFailurePolicyRule) bool { return len(r.OnPodConditions) > 0 })
	rule("rule on a container", func(r *batchv1.PodFailurePolicyRule) bool {
		return r.OnExitCodes != nil && r.OnExitCodes.ContainerName != nil
	})
	return all
}

var statusFeatures = []feature{
	onStatus("uncounted failed", func(s *batchv1.JobStatus) bool {
		return s.UncountedTerminatedPods != nil && len(s.UncountedTerminatedPods.Failed) > 0
	}),
	onStatus("uncounted succeeded", func(s *batchv1.JobStatus) bool {
		return s.UncountedTerminatedPods != nil && len(s.UncountedTerminatedPods.Succeeded) > 0
	}),
	onStatus("FailureTarget", func(s *batchv1.JobStatus) bool { return isTrue(s, batchv1.JobFailureTarget) }),
	onStatus("SuccessCriteriaMet", func(s *batchv1.JobStatus) bool { return isTrue(s, batchv1.JobSuccessCriteriaMet) }),
	onStatus("Suspended", func(s *batchv1.JobStatus) bool { return isTrue(s, batchv1.JobSuspended) }),
	onStatus("damaged completedIndexes", func(s *batchv1.JobStatus) bool { return damaged(s.CompletedIndexes) }),
	onStatus("damaged failedIndexes", func(s *batchv1.JobStatus) bool { return s.FailedIndexes != nil && damaged(*s.FailedIndexes) }),
}

func damaged(text string) bool {
	_, err := indexset.Parse(text)
	return err != nil
}

// podFeatures lists all combinations of phase, deletion and finalizer, and the possible defects of an
// index.
var podFeatures = func() (all []feature) {
	for _, phase := range []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed, corev1.PodUnknown} {
		for _, deleted := range []bool{false, true} {
			for _, held := range []bool{false, true} {
				name := "pod " + string(phase)
				if deleted {
					name += ", deleted"
				}
				if held {
					name += ", with finalizer"
				}
				all = append(all, onPod(name, func(_ *trial, p *corev1.Pod) bool {
					return p.Status.Phase == phase && (p.DeletionTimestamp != nil) == deleted && builtin.HasFinalizer(p) == held
				}))
			}
		}
	}
	return append(all,
		onPod("pod without index", func(c *trial, p *corev1.Pod) bool {
			_, ok := p.Annotations[batchv1.JobCompletionIndexAnnotation]
			return indexed(c.snapshot.Job) && !ok
		}),
		onPod("pod with edited index", func(c *trial, p *corev1.Pod) bool {
			return indexed(c.snapshot.Job) && builtin.IndexConflict(p)
		}),
		onPod("pod with index beyond completions", func(c *trial, p *corev1.Pod) bool {
			return indexed(c.snapshot.Job) && builtin.IndexOf(p) >= 0 && !valid(c.snapshot.Job, p)
		}),
		onPod("pod with duplicate index", func(c *trial, p *corev1.Pod) bool {
			return indexed(c.snapshot.Job) && valid(c.snapshot.Job, p) && slices.ContainsFunc(c.snapshot.Pods, func(o *corev1.Pod) bool {
				return o != p && builtin.IndexOf(o) == builtin.IndexOf(p)
			})
		}),
		onPod("pod with edited failure count", func(_ *trial, p *corev1.Pod) bool {
			n := p.Annotations[batchv1.JobIndexFailureCountAnnotation]
			return len(n) > 5 || strings.ContainsAny(n, "-xe")
		}),
	)
}()

func onPod(name string, in func(*trial, *corev1.Pod) bool) feature {
	return feature{name, func(c *trial) bool {
		return slices.ContainsFunc(c.snapshot.Pods, func(p *corev1.Pod) bool { return in(c, p) })
	}}
}

// exclusions lists the features that exclude others. A trailing * matches any suffix.
var exclusions = map[string][]string{
	"Indexed":                     {"NonIndexed", "no completions", "uncounted succeeded"},
	"NonIndexed":                  {"backoffLimitPerIndex", "maxFailedIndexes", "successPolicy", "completions huge", "rule FailIndex", "damaged*", "pod with*"},
	"no completions":              {"completions*", "backoffLimitPerIndex", "maxFailedIndexes", "successPolicy", "rule FailIndex", "damaged*", "pod with*"},
	"completions 0":               {"completions*", "pod with duplicate index", "maxFailedIndexes"},
	"completions huge":            {"pod with index beyond completions", "uncounted succeeded"},
	"parallelism 0":               {"parallelism ≥ 1"},
	"backoffLimit 0":              {"backoffLimit ≥ 1", "no backoffLimit"},
	"backoffLimit ≥ 1":            {"no backoffLimit"},
	"podFailurePolicy":            {"OnFailure", "replace TerminatingOrFailed"},
	"backoffLimitPerIndex":        {"OnFailure"},
	"maxFailedIndexes":            {"OnFailure"},
	"OnFailure":                   {"rule*", "damaged failedIndexes", "pod with edited failure count"},
	"replace Failed":              {"replace TerminatingOrFailed"},
	"replace TerminatingOrFailed": {"rule*"},
	"FailureTarget":               {"SuccessCriteriaMet"},
	"uncounted succeeded":         {"damaged*", "pod with*", "backoffLimitPerIndex", "maxFailedIndexes", "successPolicy", "rule FailIndex"},
}

// excludes reports whether two features cannot occur together, or are both so rare that the
// combination may be missing.
func excludes(a, b string) bool {
	matches := func(name, pattern string) bool {
		prefix, any := strings.CutSuffix(pattern, "*")
		return name == pattern || any && strings.HasPrefix(name, prefix)
	}
	for _, pair := range [][2]string{{a, b}, {b, a}} {
		if slices.ContainsFunc(exclusions[pair[0]], func(p string) bool { return matches(pair[1], p) }) {
			return true
		}
	}
	return false
}
