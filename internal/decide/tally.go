package decide

import (
	"reflect"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/keys"
	"github.com/jobfate/jobfate/internal/lifecycle"
	"github.com/jobfate/jobfate/internal/owner"
)

// Tally keeps the pods of a Job from one decision to the next, so that the cost of a
// decision depends on what has changed. The zero Tally has no pods. Callers must not change
// the pods that they pass to it.
//
// Invariant: a decision is the same as that of a new Tally that is given the same pods.
type Tally struct {
	// list is the list of pods that List was given and no decision has read yet; given
	// says that there is one. changes are the pods that were fed since, by name; nil
	// means that the pod is gone.
	list    []*corev1.Pod
	given   bool
	changes map[string]*corev1.Pod
	hidden  []*corev1.Pod // left out until Show

	// census holds the pods, classified as basis says; nil at first.
	census            *census.Census
	basis             basis
	completed, failed indexTexts
}

// List replaces all pods.
func (t *Tally) List(pods []*corev1.Pod) {
	t.list, t.given, t.changes, t.hidden = pods, true, nil, nil
}

// Feed replaces the pod of a name; nil means that it is gone.
func (t *Tally) Feed(name string, pod *corev1.Pod) {
	if pod != nil {
		name = pod.Name
	}
	if t.changes == nil {
		t.changes = map[string]*corev1.Pod{}
	}
	t.changes[name] = pod
}

// Hide leaves a pod out of the decisions until Show.
func (t *Tally) Hide(uid types.UID) {
	if t.census == nil {
		return
	}
	if r := t.census.Of(uid); r != nil {
		t.census.Remove(uid)
		t.hidden = append(t.hidden, r.Pod)
	}
}

// Show returns the hidden pods to the decisions, unless Feed has since been given their
// names.
func (t *Tally) Show() {
	for _, pod := range t.hidden {
		if _, known := t.changes[pod.Name]; !known {
			t.Feed(pod.Name, pod)
		}
	}
	t.hidden = nil
}

// Pod returns the pod with a UID; nil when there is none.
func (t *Tally) Pod(uid types.UID) *corev1.Pod {
	if t.census != nil && !t.given && len(t.changes) == 0 {
		if r := t.census.Of(uid); r != nil {
			return r.Pod
		}
		return nil
	}
	for _, pod := range t.Pods() { // without reading them into the census
		if pod != nil && pod.UID == uid {
			return pod
		}
	}
	return nil
}

// Pods returns the pods: those of the list in its order, or those of the census by name.
// Pods that were fed and not read yet come last.
func (t *Tally) Pods() (pods []*corev1.Pod) {
	pods = t.list
	if !t.given && t.census != nil {
		pods = t.census.Pods()
	}
	if len(t.changes) == 0 {
		return pods
	}
	changed := slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool {
		if pod == nil {
			return false
		}
		_, known := t.changes[pod.Name]
		return known
	})
	for _, pod := range t.changes {
		if pod != nil {
			changed = append(changed, pod)
		}
	}
	return changed
}

// Clone returns an independent copy. The pods are shared.
func (t *Tally) Clone() Tally {
	next := *t
	next.changes, next.hidden, next.census = nil, slices.Clone(t.hidden), t.census.Clone()
	for name, pod := range t.changes {
		next.Feed(name, pod)
	}
	return next
}

// basis holds the fields of a Job and of the Config that decide how a pod is classified,
// besides those that [census.Census.ReadsAs] compares.
type basis struct {
	selector *metav1.LabelSelector
	policy   *batchv1.PodFailurePolicy
	own      *failurepolicy.Spec // the caller's policy

	withoutPolicy, withoutPerIndex bool
}

func basisOf(job *batchv1.Job, c *Config) basis {
	return basis{
		selector: job.Spec.Selector, policy: job.Spec.PodFailurePolicy, own: c.FailurePolicy,
		withoutPolicy: c.WithoutPolicy, withoutPerIndex: c.WithoutPerIndex,
	}
}

func (b basis) equal(o basis) bool {
	return b.withoutPolicy == o.withoutPolicy && b.withoutPerIndex == o.withoutPerIndex &&
		(b.selector == o.selector || reflect.DeepEqual(b.selector, o.selector)) &&
		(b.policy == o.policy || reflect.DeepEqual(b.policy, o.policy)) &&
		(b.own == o.own || reflect.DeepEqual(b.own, o.own)) // matchers in two specs are never equal
}

// Read validates the input and updates the census.
func (t *Tally) Read(in Input, c *Config) error {
	_, err := t.read(&in, c)
	return err
}

// jobRead is the spec and status of a Job as a decision reads them.
type jobRead struct {
	spec   Spec
	status Status
	notes  []Note
}

// read validates the Job, and reads the pods that have changed. It reads all pods again if
// their classification may have changed, or if most of them are new objects.
func (t *Tally) read(in *Input, c *Config) (job jobRead, err error) {
	of, err := t.check(in, c)
	if err != nil {
		return job, err
	}
	job.spec = readSpec(&in.Job.Spec, c)
	job.status, job.notes = t.readStatus(in.Job, &job.spec)
	classifier, now := job.spec.classifier(&job.status, c), basisOf(in.Job, c)
	if t.census == nil || !t.census.ReadsAs(&of, &classifier) || !t.basis.equal(now) || t.given && t.census.Differs(t.list) {
		err = t.readAll(of, classifier)
		t.basis = now
	} else {
		// First the status: it then contains the indexes of counted pods, so removing
		// these pods does not change the indexes that are done.
		t.census.SetDone(job.status.Completed.Set, job.status.Failed.Set)
		if t.given && !t.census.Replace(t.list) {
			err = &InputError{checkPods(t.list)}
		}
	}
	if err != nil {
		return job, err
	}
	t.list, t.given = nil, false
	return job, t.readChanges()
}

// readChanges reads the pods that were fed.
func (t *Tally) readChanges() error {
	if len(t.changes) == 0 {
		return nil
	}
	type change struct {
		name string
		pod  *corev1.Pod
	}
	all := make([]change, 0, len(t.changes))
	for name, pod := range t.changes {
		if pod != nil && pod.UID == "" {
			return &InputError{checkPods([]*corev1.Pod{pod})}
		}
		all = append(all, change{name, pod})
	}
	slices.SortFunc(all, func(a, b change) int { return strings.Compare(a.name, b.name) })
	for _, c := range all {
		t.census.PutNamed(c.name, c.pod)
	}
	t.changes = nil
	return nil
}

// readAll reads all pods into a new census.
func (t *Tally) readAll(job owner.Owner, classifier census.Classifier) error {
	pods := t.list
	if !t.given && t.census != nil {
		pods = t.census.Pods()
	}
	next := census.New(classifier, len(pods))
	// Read detects invalid pods. Checking them beforehand would be another pass, which
	// took a quarter of the time at 10^5 pods.
	if !next.Read(job, pods) {
		t.census, t.list, t.given = nil, pods, true
		return &InputError{checkPods(pods)}
	}
	t.census = next
	return nil
}

func (s *Spec) classifier(status *Status, c *Config) census.Classifier {
	return census.Classifier{
		Keys:              keys.Keys(c.Controller.Keys),
		Indexed:           s.Indexed,
		Completions:       s.indexes(),
		Limit:             s.Limit,
		ReplaceFailedOnly: s.ReplaceFailedOnly,
		CountRestarts:     s.CountRestarts,
		Policy:            s.Policy,
		Uncounted:         status.Uncounted,
	}
}

// view returns the View of an input.
func (t *Tally) view(in Input, config *Config) (*View, error) {
	job, err := t.read(&in, config)
	if err != nil {
		return nil, err
	}
	inFlight, record, dropped := readMemory(&in)
	c := t.census
	c.SetStripped(inFlight.Stripped)
	c.SetUncounted(job.status.Uncounted)
	if in.BackoffInDoubt {
		record = rebuild(c, record)
	}
	return &View{
		Config:     config,
		Job:        in.Job,
		Now:        in.Now,
		InFlight:   inFlight,
		Backoff:    record,
		InDoubt:    in.BackoffInDoubt,
		LastStatus: in.LastStatus,
		Spec:       job.spec,
		Status:     job.status,
		Census:     c,
		Claims:     claims(c.Claims()),
		Foreign:    c.Foreign,
		Totals:     count(in.Job, &job.spec, &job.status, c),
		Notes:      append(job.notes, dropped...),
	}, nil
}

// Decide decides for the pods of the Tally and ignores the Pods of the Input. The View of
// the outcome shares the census of the Tally, so it is valid until the next decision or a
// change of the Config.
func (t *Tally) Decide(in Input, c *Config) (*Outcome, error) {
	v, err := t.view(in, c)
	if err != nil {
		return nil, err
	}
	switch {
	case lifecycle.Finished(v.Job) != nil:
		return v.afterTheEnd(), nil
	case v.InFlight.Status:
		return v.waitForJob(), nil
	}
	o := v.close(v.plan(), Done{})
	if v.Spec.Indexed {
		t.completed.wrote(o.Status.CompletedIndexes, v.Totals.Results.Completed, *v.Spec.Completions)
		if o.Status.FailedIndexes != nil {
			t.failed.wrote(*o.Status.FailedIndexes, v.Totals.Results.Failed, *v.Spec.Completions)
		}
	}
	return o, nil
}
