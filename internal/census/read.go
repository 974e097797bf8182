package census

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/owner"
)

// Claim is a pod and what it is to the Job.
type Claim struct {
	Pod      *corev1.Pod
	Relation owner.Relation
}

// Read reads pods into the census, which must be empty. It reports whether all of them
// have a UID of their own; if not, the census is not to be used.
func (c *Census) Read(job owner.Owner, pods []*corev1.Pod) bool {
	c.owner = job
	if slices.Contains(pods, nil) {
		return false
	}
	var ahead prefetched
	for at := 0; at < len(pods); at += stride {
		group := pods[at:min(at+stride, len(pods))]
		ahead.read(group, &job, c.classifier.Indexed, c.classifier.Keys.Index)
		for i, pod := range group {
			before := len(c.records)
			c.add(pod, job.RelationOf(pod, ahead.selected[i]), ahead.index[i])
			if pod.UID == "" || len(c.records) == before {
				return false
			}
		}
	}
	return true
}

// ReadsAs reports whether pods are read as they would be for a Job and with a classifier
// whose selector and policy are the same.
func (c *Census) ReadsAs(job *owner.Owner, as *Classifier) bool {
	k := &c.classifier
	return c.owner.SameJob(job) && k.Keys == as.Keys.WithDefaults() && k.Indexed == as.Indexed && k.Completions == as.Completions && k.Limit == as.Limit &&
		k.ReplaceFailedOnly == as.ReplaceFailedOnly && k.CountRestarts == as.CountRestarts
}

// Replace makes the pods those of the census, as if they had been read into an empty
// one. A pod that is the same object as before is not read again.
func (c *Census) Replace(pods []*corev1.Pod) bool {
	present := make(map[types.UID]struct{}, len(pods))
	for _, pod := range pods {
		if pod == nil || pod.UID == "" {
			return false
		}
		present[pod.UID] = struct{}{}
	}
	if len(present) < len(pods) {
		return false
	}
	for uid := range c.records {
		if _, still := present[uid]; !still {
			c.Remove(uid)
		}
	}
	for _, pod := range pods {
		c.Put(pod)
	}
	return true
}

// Differs reports whether a long list consists of other objects for the most part, as
// that of a cache that copies them: then to read it into a new census is faster.
func (c *Census) Differs(pods []*corev1.Pod) bool {
	const long = 100
	if len(pods) < long {
		return false
	}
	same := 0
	for _, pod := range pods {
		if pod == nil {
			return false
		}
		if r := c.records[pod.UID]; r != nil && r.Pod == pod {
			same++
		}
	}
	return same < len(pods)/2
}

// Put reads a pod into the census, in the place of an earlier state of it.
func (c *Census) Put(pod *corev1.Pod) {
	c.put(c.records[pod.UID], pod)
}

func (c *Census) put(before *Record, pod *corev1.Pod) {
	if before == nil || before.Pod != pod {
		c.swap(before, pod, c.owner.Relation(pod))
	}
}

// PutNamed reads the pod of a name in the Job's namespace, nil for none, in the place of
// an earlier one.
func (c *Census) PutNamed(name string, pod *corev1.Pod) {
	switch before := c.named(name); {
	case pod != nil && before != nil && before.Pod.UID == pod.UID:
		c.put(before, pod)
		return
	case before != nil:
		c.Remove(before.Pod.UID)
	}
	if pod != nil {
		c.Put(pod)
	}
}

// named returns the record of the pod of a name in the Job's namespace; nil for none. A
// few pods are looked through, because most Jobs have one, and a map takes 256 bytes.
func (c *Census) named(name string) *Record {
	const few = 8
	switch {
	case c.names != nil:
	case len(c.records) <= few:
		for _, r := range c.records {
			if r.Pod.Name == name && c.near(r) {
				return r
			}
		}
		return nil
	default:
		c.names = make(map[string]*Record, len(c.records))
		for _, r := range c.records {
			c.name(r)
		}
	}
	return c.names[name]
}

// name notes the name of a pod, once names are needed.
func (c *Census) name(r *Record) {
	if c.names != nil && c.near(r) {
		c.names[r.Pod.Name] = r
	}
}

// near reports whether a pod is in the Job's namespace.
func (c *Census) near(r *Record) bool { return r.Pod.Namespace == c.owner.Namespace() }

// unname is the reverse of name.
func (c *Census) unname(r *Record) {
	if c.names[r.Pod.Name] == r {
		delete(c.names, r.Pod.Name)
	}
}

// Claims are the pods that the Job is to adopt, release or free, by UID.
func (c *Census) Claims() (all []Claim) {
	if c.claimed == 0 {
		return nil
	}
	for r := range c.list(claims).all() {
		all = append(all, Claim{r.Pod, r.Relation})
	}
	return all
}
