package decide

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/classify"
	"github.com/jobfate/jobfate/jobstatus"
)

// Pods keeps the pods of a Job from one decision to the next, so that the cost of a decision depends on what has
// changed. The zero Pods has none. Callers must not change the pods that they pass to it, nor the Job of a snapshot.
// Pods is not safe for concurrent use, and must not be copied.
//
// A decision is the same as that of [Job] on the same pods.
type Pods struct {
	// list is the list of pods that Replace was given; nil once a decision has read it. changes
	// lists the pods that were fed since; of two with the same name, the later one counts.
	list    []*corev1.Pod
	changes []change

	census            *census.Census // nil at first
	completed, failed indexTexts

	atRest *outcome // of the last decision; nil if the Job is not at rest
}

// change is the pod that was fed under a name; nil means that it is gone.
type change struct {
	name string
	pod  *corev1.Pod
}

// Replace replaces all pods.
func (t *Pods) Replace(pods []*corev1.Pod) {
	t.list, t.changes = pods, nil
	if pods == nil {
		t.list = []*corev1.Pod{}
	}
}

const manyChanges = 1 << 16

// Feed replaces the pod of a name; nil means that it is gone.
func (t *Pods) Feed(name string, pod *corev1.Pod) {
	if pod != nil {
		name = pod.Name
	}
	t.makeRoom()
	t.changes = append(t.changes, change{name, pod})
}

// makeRoom compacts the changes now and then, so that a caller may feed the same pods as often as
// it likes.
func (t *Pods) makeRoom() {
	if n := len(t.changes); n == cap(t.changes) && n >= manyChanges && (t.census == nil || n > 2*t.census.Len()) {
		t.compact()
	}
}

// compact keeps only the last change of each name, and orders them by name.
func (t *Pods) compact() {
	slices.SortStableFunc(t.changes, func(a, b change) int { return cmp.Compare(a.name, b.name) })
	last := t.changes[:0]
	for i, c := range t.changes {
		if i+1 == len(t.changes) || t.changes[i+1].name != c.name {
			last = append(last, c)
		}
	}
	t.changes = last
}

// Get returns the pod with a UID; nil when there is none. It finds a pod once Update or Decide has read it.
func (t *Pods) Get(uid types.UID) *corev1.Pod {
	if r := t.census.Of(uid); r != nil {
		return r.Pod
	}
	return nil
}

// List returns the pods: those of the list in its order or, once they were read, by name.
// Pods that were fed and not read yet come last.
func (t *Pods) List() []*corev1.Pod {
	t.compact()
	pods := slices.DeleteFunc(slices.Clone(t.listed()), func(pod *corev1.Pod) bool {
		if pod == nil {
			return false
		}
		_, known := slices.BinarySearchFunc(t.changes, pod.Name,
			func(c change, name string) int { return cmp.Compare(c.name, name) })
		return known
	})
	for _, c := range t.changes {
		if c.pod != nil {
			pods = append(pods, c.pod)
		}
	}
	return pods
}

// listed returns the pods without those that were fed and not read yet.
func (t *Pods) listed() []*corev1.Pod {
	if t.list == nil && t.census != nil {
		return t.census.Pods()
	}
	return t.list
}

// Clone returns an independent copy. The objects are shared.
func (t *Pods) Clone() Pods {
	return Pods{list: t.list, changes: slices.Clone(t.changes), census: t.census.Clone(),
		completed: t.completed, failed: t.failed}
}

// read validates a snapshot, whose pods it ignores, and updates the census.
func (t *Pods) read(in *Snapshot, c *config) (spec jobSpec, stored storedStatus, err error) {
	t.atRest = nil
	of, err := t.check(in, c)
	if err != nil {
		return spec, stored, err
	}
	stored = t.readStatus(&in.Job.Status, &of)
	err = t.update(&stored, &of)
	if err == nil {
		spec = readSpec(in.Job, t.census.SetClassifier(&of))
	}
	return spec, stored, err
}

// update reads the pods that have changed. It reads all pods again if their classification may have
// changed, if most of them are new objects, or if most of the old ones are gone. Only invalid pods
// are an error.
func (t *Pods) update(stored *storedStatus, of *classify.Classifier) error {
	if t.census == nil || !t.census.ClassifiesAs(of) || t.census.Differs(t.list) || t.census.IsSparse() {
		pods := t.listed()
		next := census.New(of, len(pods))
		// Read detects invalid pods. Checking them beforehand would be another pass, which
		// took a quarter of the time at 10^5 pods.
		if !next.Read(pods) {
			return &InputError{checkPods(pods)}
		}
		t.census = next
	} else {
		// First the status: it then contains the indexes of counted pods, so removing
		// these pods does not change the indexes that are done.
		t.census.SetDone(stored.completed.indexes(), stored.failed.indexes())
		if t.list != nil && !t.census.Replace(t.list) {
			return &InputError{checkPods(t.list)}
		}
	}
	t.list = nil
	for i, c := range t.changes {
		if c.pod == nil || c.pod.UID != "" {
			t.census.PutNamed(c.name, c.pod)
		} else if !slices.ContainsFunc(t.changes[i+1:], func(o change) bool { return o.name == c.name }) {
			return &InputError{checkPods([]*corev1.Pod{c.pod})}
		}
	}
	t.changes = nil
	return nil
}

// Update reads the pods that have changed, as Decide would, and decides nothing. It returns the errors of Decide about
// the Job, the pods and the options.
func (t *Pods) Update(s Snapshot, opts ...Option) error {
	_, _, err := t.read(&s, configure(opts))
	return err
}

// Decide decides on the pods that are kept, and ignores those of the snapshot. Its errors are those of [Job]. The facts
// of the decision are valid until the next call of Update or Decide.
//
// The Job and the pods that have not changed since the last decision are not evaluated again, if the options are the
// same [Options].
func (t *Pods) Decide(s Snapshot, opts ...Option) (Decision, error) {
	if errs := s.InFlight.check(); len(errs) > 0 {
		return Decision{}, &InputError{errs}
	}
	return t.decide(s, configure(opts))
}

func (t *Pods) decide(in Snapshot, c *config) (Decision, error) {
	if d, ok, err := t.again(&in, c); ok || err != nil {
		return d, err
	}
	spec, stored, err := t.read(&in, c)
	if err != nil {
		return Decision{}, err
	}
	s := newState(in, c, spec, stored, t.census)
	switch {
	case jobstatus.Finished(s.Job) != nil:
		return s.afterTheEnd(), nil
	case s.InFlight.Status:
		// wait to observe the status
		made := &outcome{state: s, after: s.counts()}
		return Decision{Backoff: s.known, Requeue: c.BatchPeriod, made: made}, nil
	}
	d := s.close(s.plan(), Undone{}).decision()
	if s.spec.Indexed { // otherwise the texts of the status stay as they are
		results, status, completions := &s.census.Results, &d.made.status, s.spec.Classifier.Completions
		t.completed.write(status.CompletedIndexes, completions, results.Completed)
		t.failed.write(valueOf(status.FailedIndexes, ""), completions, results.Failed)
	}
	if d.isAtRest() {
		t.atRest = d.made
	}
	return d, nil
}

// indexTexts caches the sets of two texts: the one that was read last, and the one that the last
// decision asked to store. Neither is parsed again.
type indexTexts struct{ read, written *indexText }

// indexText is a text that stands for a set of indexes below completions. damage says why it is not
// the canonical text of the set; nil if it is. An indexText never changes.
type indexText struct {
	text        string
	completions int32
	set         indexset.Set
	damage      *indexset.SyntaxError
	apart       *indexText // completed indexes that these failed ones do not overlap; nil if not known
}

// indexes returns the set; none if there is no text.
func (k *indexText) indexes() (none indexset.Set) {
	if k == nil {
		return none
	}
	return k.set
}

// known returns what is cached of a text; nil if nothing is.
func (k *indexTexts) known(text string, completions int32) *indexText {
	for _, known := range [...]*indexText{k.written, k.read} {
		if known != nil && known.text == text && known.completions == completions {
			return known
		}
	}
	return nil
}

// parse returns the set of a text; nil if it is empty.
func (k *indexTexts) parse(text string, completions int32) *indexText {
	k.read = k.known(text, completions)
	if k.read == nil && text != "" {
		set, damage := indexset.ParseDamaged(text, completions)
		k.read = &indexText{text, completions, set, damage, nil}
	}
	return k.read
}

// overlap reports whether completed and failed indexes overlap. Most statuses have those of the last one.
func (t *Pods) overlap(completed, failed *indexText) bool {
	if failed == nil || failed.apart == completed {
		return false
	}
	if failed.set.IntersectionLen(completed.indexes()) > 0 {
		return true
	}
	next := *failed
	next.apart = completed
	for _, known := range [...]**indexText{&t.failed.written, &t.failed.read} {
		if *known == failed {
			*known = &next
		}
	}
	return false
}

// write caches the set of a text that a decision asks to store.
func (k *indexTexts) write(text string, completions int32, set indexset.Set) {
	k.written = k.known(text, completions)
	if k.written == nil && text != "" {
		k.written = &indexText{text, completions, set, nil, nil}
	}
}
