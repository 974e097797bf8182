package decide

import (
	"maps"
	"reflect"
	"slices"

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

	// census holds the pods, classified as basis says; nil at first.
	census            *census.Census
	basis             basis
	completed, failed indexTexts
}

// List replaces all pods.
func (t *Tally) List(pods []*corev1.Pod) {
	t.list, t.given, t.changes = pods, true, nil
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

// Pod returns the pod with a UID; nil when there is none. It finds pods only once they were
// read.
func (t *Tally) Pod(uid types.UID) *corev1.Pod {
	if r := t.census.Of(uid); r != nil {
		return r.Pod
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
	next.changes, next.census = maps.Clone(t.changes), t.census.Clone()
	return next
}

// basis holds the fields of a Job and of the Config that decide how a pod is classified,
// besides those that [census.Census.ReadsAs] compares. Those of two Jobs are compared in depth,
// but matchers in two policies are never equal.
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

// Read validates the input and updates the census.
func (t *Tally) Read(in Input, c *Config) error {
	_, _, err := t.read(&in, c)
	return err
}

// read validates the Job, and reads the pods that have changed. It reads all pods again if
// their classification may have changed, or if most of them are new objects.
func (t *Tally) read(in *Input, c *Config) (spec Spec, status Status, err error) {
	of, err := t.check(in, c)
	if err != nil {
		return spec, status, err
	}
	spec = readSpec(&in.Job.Spec, c)
	status = t.readStatus(in.Job, &spec)
	classifier, now := spec.classifier(&status, c), basisOf(in.Job, c)
	if t.census == nil || !t.census.ReadsAs(&of, &classifier) || t.basis != now && !reflect.DeepEqual(t.basis, now) || t.given && t.census.Differs(t.list) {
		err = t.readAll(of, classifier)
		t.basis = now
	} else {
		// First the status: it then contains the indexes of counted pods, so removing
		// these pods does not change the indexes that are done.
		t.census.SetDone(status.Completed.Set, status.Failed.Set)
		if t.given && !t.census.Replace(t.list) {
			err = &InputError{checkPods(t.list)}
		}
	}
	if err != nil {
		return spec, status, err
	}
	t.list, t.given = nil, false
	return spec, status, t.readChanges()
}

// readChanges reads the pods that were fed.
func (t *Tally) readChanges() error {
	if len(t.changes) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(t.changes)) {
		pod := t.changes[name]
		if pod != nil && pod.UID == "" {
			return &InputError{checkPods([]*corev1.Pod{pod})}
		}
		t.census.PutNamed(name, pod)
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
	spec, status, err := t.read(&in, config)
	if err != nil {
		return nil, err
	}
	status.Notes = append(status.Notes, in.forgetOthers()...)
	c := t.census
	c.SetStripped(in.InFlight.Stripped)
	c.SetUncounted(status.Uncounted)
	if in.BackoffInDoubt {
		in.Backoff = rebuild(c, in.Backoff)
	}
	in.Pods = nil
	return &View{
		Input:  in,
		Config: config,
		Spec:   spec,
		Status: status,
		Census: c,
		Totals: count(in.Job, &spec, &status, c),
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
