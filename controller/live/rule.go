package live

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/jobfate/jobfate/controller/live/kubelet"
)

// Rule describes what happens to some pods. Its methods return a new rule with a further
// condition. A rule matches the pods that meet all its conditions.
type Rule struct {
	life   kubelet.Life
	owner  string
	labels labels.Set
	index  *int
	times  *int
}

// Succeed returns a rule for pods that exit with 0.
func Succeed() Rule { return As(kubelet.Succeed()) }

// Fail returns a rule for pods that exit with the given code.
func Fail(code int32) Rule { return As(kubelet.Fail(code)) }

// Run returns a rule for pods that run until they are deleted.
func Run() Rule { return As(kubelet.Run()) }

// As returns a rule for pods with any life.
func As(life kubelet.Life) Rule { return Rule{life: life} }

// After makes the pods run for a duration first.
func (r Rule) After(d time.Duration) Rule {
	r.life = r.life.After(d)
	return r
}

// Disrupted ends the pods with the condition DisruptionTarget.
func (r Rule) Disrupted() Rule {
	r.life = r.life.Disrupted()
	return r
}

// ForJob restricts the rule to the pods of a Job, or of another controller with that name.
func (r Rule) ForJob(name string) Rule {
	r.owner = name
	return r
}

// ForLabels restricts the rule to pods with these labels.
func (r Rule) ForLabels(l map[string]string) Rule {
	r.labels = labels.Merge(r.labels, l)
	return r
}

// ForIndex restricts the rule to the pods of a completion index.
func (r Rule) ForIndex(index int) Rule {
	r.index = &index
	return r
}

// Times ends the rule after a number of pods, counted for each index of each Job, or for
// each Job without indexes. If a Job is created again with the same name, its count
// continues.
func (r Rule) Times(n int) Rule {
	r.times = &n
	return r
}

func (r Rule) fits(p kubelet.Pod) bool {
	return (r.owner == "" || r.owner == p.Job) &&
		(r.index == nil || *r.index == p.Index) &&
		r.labels.AsSelectorPreValidated().Matches(labels.Set(p.Labels))
}

// used is the key by which the uses of a rule are counted.
type used struct {
	rule                   int
	namespace, kind, owner string
	index                  int
}

// script returns the script that applies the rules.
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
