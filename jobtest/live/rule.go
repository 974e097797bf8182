package live

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

// Rule says what becomes of some pods. Its methods return another rule, and each
// condition narrows it: a rule fits the pods that meet all its conditions.
type Rule struct {
	life   kubelet.Life
	owner  string
	labels labels.Set
	index  *int
	times  *int
}

// Succeed is a rule for pods that exit with 0.
func Succeed() Rule { return As(kubelet.Succeed()) }

// Fail is a rule for pods that exit with another code.
func Fail(code int32) Rule { return As(kubelet.Fail(code)) }

// Run is a rule for pods that run until they are deleted.
func Run() Rule { return As(kubelet.Run()) }

// As is a rule for pods that have any life.
func As(life kubelet.Life) Rule { return Rule{life: life} }

// After has the pods run for a while first.
func (r Rule) After(d time.Duration) Rule {
	r.life = r.life.After(d)
	return r
}

// Disrupted ends the pods with the condition DisruptionTarget.
func (r Rule) Disrupted() Rule {
	r.life = r.life.Disrupted()
	return r
}

// ForJob narrows the rule to the pods of a Job, or of another controller of that name.
func (r Rule) ForJob(name string) Rule {
	r.owner = name
	return r
}

// ForLabels narrows the rule to pods with some labels.
func (r Rule) ForLabels(l map[string]string) Rule {
	r.labels = labels.Merge(r.labels, l)
	return r
}

// ForIndex narrows the rule to the pods of a completion index.
func (r Rule) ForIndex(index int) Rule {
	r.index = &index
	return r
}

// Times ends the rule after a number of pods, counted for each index of each Job, or for
// each Job that has no indexes. A Job that is created anew under its name counts on.
func (r Rule) Times(n int) Rule {
	r.times = &n
	return r
}

func (r Rule) fits(p kubelet.Pod) bool {
	return (r.owner == "" || r.owner == p.Job) &&
		(r.index == nil || *r.index == p.Index) &&
		r.labels.AsSelectorPreValidated().Matches(labels.Set(p.Labels))
}

// used is what the uses of a rule are counted by.
type used struct {
	rule                   int
	namespace, kind, owner string
	index                  int
}

// script returns the script that follows rules.
func script(rules []Rule) kubelet.Script {
	uses := map[used]int{}
	return func(p kubelet.Pod) kubelet.Life {
		kind := ""
		if controller := metav1.GetControllerOf(p.Pod); controller != nil {
			kind = controller.Kind
		}
		for i, r := range rules {
			use := used{i, p.Namespace, kind, p.Job, p.Index}
			if !r.fits(p) || r.times != nil && uses[use] >= *r.times {
				continue
			}
			uses[use]++
			return r.life
		}
		if p.Spec.RestartPolicy == corev1.RestartPolicyAlways {
			return kubelet.Run()
		}
		return kubelet.Succeed()
	}
}
