package census

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/classify"
)

// Read reads pods into the census, which must be empty. It returns false if a pod is nil,
// has no UID, or has the UID of another. The census must not be used then.
func (c *Census) Read(pods []*corev1.Pod) bool {
	if slices.Contains(pods, nil) {
		return false
	}
	records := make([]Record, 0, len(pods))
	for next := range slices.Chunk(pods, stride) {
		load(next)
		for _, pod := range next {
			records = append(records, c.classified(pod, c.classifier.Relation(pod)))
			c.put(&records[len(records)-1])
		}
	}
	return c.records.get("") == nil && c.records.len() == len(pods)
}

// ClassifiesAs reports whether the pods are classified as another classifier classifies them,
// except for the uncounted lists.
func (c *Census) ClassifiesAs(o *classify.Classifier) bool { return c.classifier.ClassifiesAs(o) }

// Replace replaces all pods of the census. A pod that is the same object as before is not
// read again. Replace returns false and changes nothing if a pod is nil, has no UID, or has
// the UID of another.
func (c *Census) Replace(pods []*corev1.Pod) bool {
	present := make(map[types.UID]bool, len(pods))
	for _, pod := range pods {
		if pod == nil || pod.UID == "" || present[pod.UID] {
			return false
		}
		present[pod.UID] = true
	}
	for uid, r := range c.records.all() {
		if !present[uid] {
			c.drop(r)
		}
	}
	for _, pod := range pods {
		c.Put(pod)
	}
	return true
}

// Differs reports whether most pods of a long list are not the objects in the census, as
// with a cache that returns copies. Reading them into a new census is then faster.
func (c *Census) Differs(pods []*corev1.Pod) bool {
	const long = 100
	same := 0
	for _, pod := range pods {
		if pod != nil {
			if r := c.records.get(pod.UID); r != nil && r.Pod == pod {
				same++
			}
		}
	}
	return len(pods) >= long && same < len(pods)/2
}

// Put adds a pod to the census, or replaces the pod with its UID.
func (c *Census) Put(pod *corev1.Pod) {
	if before := c.records.get(pod.UID); before == nil || before.Pod != pod {
		c.swap(before, pod, c.classifier.Relation(pod))
	}
}

// PutNamed replaces the pod of a name in the Job's namespace. A nil pod means that the pod
// of that name is gone.
func (c *Census) PutNamed(name string, pod *corev1.Pod) {
	if before := c.named(name); before != nil && (pod == nil || before.Pod.UID != pod.UID) {
		c.drop(before)
	}
	if pod != nil {
		c.Put(pod)
	}
}

// named returns the record of the pod of a name in the Job's namespace; nil if there is
// none.
func (c *Census) named(name string) *Record {
	if c.names == nil && c.records.many == nil {
		for _, r := range c.records.all() {
			if r.Pod.Name == name && r.Pod.Namespace == c.classifier.Namespace() {
				return r
			}
		}
		return nil
	}
	if c.names == nil {
		c.names = make(map[string]*Record, c.records.len())
		for _, r := range c.records.all() {
			c.name(r)
		}
	}
	return c.names[name]
}

// name adds a record to names, if there is such a map.
func (c *Census) name(r *Record) {
	if c.names != nil && r.Pod.Namespace == c.classifier.Namespace() {
		c.names[r.Pod.Name] = r
	}
}

// unname removes a record from names.
func (c *Census) unname(r *Record) {
	if c.names[r.Pod.Name] == r {
		delete(c.names, r.Pod.Name)
	}
}
