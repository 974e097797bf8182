package jobset_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/jobset/pkg/constants"
	"sigs.k8s.io/jobset/pkg/controllers"
	"sigs.k8s.io/jobset/pkg/features"

	"github.com/jobfate/jobfate/group"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/jobset"
)

var (
	lives   = flag.Int("lives", 50, "how many lives of JobSets to compare")
	setKind = v1alpha2.GroupVersion.WithKind("JobSet")
	quiet   = jobset.Quiet

	attemptKey, stateKey = "attempt", "state" // annotations of a Job and of a set that group.Driver runs
)

// view is what a set has come to.
type view struct {
	Told          []decision        // what was decided, with the counts after it
	Now           decision          // the counts that are stored; the reason is the condition that ended the set
	Jobs, Deleted map[string]string // by name, what is compared of a Job; Deleted has those that are being deleted
}

// shown returns what is compared of a Job: the labels that say after which restarts it was created, and its conditions.
func shown(j *batchv1.Job) string {
	s := j.Labels[constants.RestartsKey] + "+" + j.Labels[constants.JobRestartAttemptKey]
	for _, c := range j.Status.Conditions {
		s += " " + string(c.Type)
	}
	return s
}

// world is a cluster with a set.
type world struct {
	server       *kube.Server
	cache        *kube.Cache
	cached, live client.Client
	set          *v1alpha2.JobSet
	told         []decision
}

func newWorld(t *testing.T, set *v1alpha2.JobSet) world {
	kinds := []kube.Kind{{GroupVersionKind: setKind, Status: true}}
	w := world{server: kube.New(kube.Options{Kinds: kinds}), set: set.DeepCopy()}
	scheme := runtime.NewScheme()
	err := errors.Join(batchv1.AddToScheme(scheme), corev1.AddToScheme(scheme), v1alpha2.AddToScheme(scheme))
	w.cache = w.server.NewCache(scheme)
	w.live = Must(w.server.Client("test", scheme, nil))
	w.cached = Must(w.server.Client("test", scheme, w.cache))
	NoError(t, errors.Join(err, controllers.SetupJobSetIndexes(quiet, w.cache), w.live.Create(quiet, w.set)))
	return w
}

// rest lets a controller with a fresh cache reconcile until it has nothing to do.
func (w *world) rest(sync func() error) (err error) {
	for before := int64(-1); err == nil && w.server.Revision() != before; err = sync() {
		before = w.server.Revision()
		w.cache.CatchUp()
	}
	return err
}

func (w *world) viewWith(now decision) view {
	v := view{Told: w.told, Now: now, Jobs: map[string]string{}, Deleted: map[string]string{}}
	for _, j := range kube.List[*batchv1.Job](w.server, "") {
		if j.DeletionTimestamp == nil {
			v.Jobs[j.Name] = shown(j)
		} else {
			v.Deleted[j.Name] = shown(j)
		}
	}
	return v
}

// change is what happens to a Job.
type change struct {
	name, before string
	deleted      bool // it was being deleted
	add          []batchv1.JobCondition
}

// apply applies changes, if the Jobs exist. Those that were being deleted may be gone.
func (w *world) apply(batch []change) bool {
	for _, c := range batch {
		j, exists := kube.Get[*batchv1.Job](w.server, w.set.Namespace, c.name)
		if !c.deleted && (!exists || shown(j) != c.before) {
			return false
		}
	}
	for _, c := range batch {
		kube.Edit(w.server, w.set.Namespace, c.name, func(j *batchv1.Job) {
			if shown(j) == c.before {
				j.Status.Conditions = append(j.Status.Conditions, c.add...)
			}
		})
	}
	return true
}

// finish ends the deletion of a Job. Only a Job that is being deleted has a finalizer.
func (w *world) finish(name string) {
	kube.Edit(w.server, w.set.Namespace, name, func(j *batchv1.Job) { j.Finalizers = nil })
}

// reconciled is a cluster in which JobSet's controller runs the set. It is the recorder of the controller's events.
type reconciled struct {
	world
	controller *controllers.JobSetReconciler
}

// sync also reads the set as the cache has it: up to date, at rest.
func (r *reconciled) sync() error {
	key := client.ObjectKeyFromObject(r.set)
	_, err := r.controller.Reconcile(quiet, ctrl.Request{NamespacedName: key})
	return errors.Join(err, r.cached.Get(quiet, key, r.set))
}

// Eventf notes an event that says what was decided. The condition Restarting has one with the same note.
func (r *reconciled) Eventf(of, _ runtime.Object, _, reason, _, note string, _ ...any) {
	found := firstFailed.FindStringSubmatch(note)
	if found == nil || strings.HasPrefix(reason, "FailurePolicy_") || reason == "DefaultFailurePolicy" {
		return
	}
	d := decision{reason: reason, job: found[1]}
	d.count(&of.(*v1alpha2.JobSet).Status)
	r.told = append(r.told, d)
}

func (r *reconciled) view() view {
	var now decision
	now.count(&r.set.Status)
	if end := r.set.Status.TerminalState; meta.IsStatusConditionTrue(r.set.Status.Conditions, end) {
		now.reason = end
	}
	return r.viewWith(now)
}

// life is a set that JobSet's controller and group.Driver run, each in its cluster, while the same happens to its Jobs.
type life struct {
	*rand.Rand
	theirs reconciled
	ours   driven
	later  [][]change // what happened to JobSet's Jobs, and not yet to ours
	now    int
}

func newLife(t *testing.T, seed int) *life {
	r := rand.New(rand.NewPCG(2, uint64(seed)))
	set := newHistory(t, r).set
	set.Namespace, set.Annotations = metav1.NamespaceDefault, map[string]string{stateKey: "{}"}
	for i := range set.Spec.ReplicatedJobs {
		spec := &set.Spec.ReplicatedJobs[i].Template.Spec
		spec.Parallelism, spec.Completions = new(int32(1)), new(int32(1))
		spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
	}
	if p := set.Spec.FailurePolicy; p != nil {
		p.MaxRestarts %= 4
		p.RestartStrategy = pick(r, v1alpha2.Recreate, v1alpha2.BlockingRecreate) // with InPlaceRestart, no Job fails
	}
	NoError(t, jobset.Default(set))
	l := &life{Rand: r, theirs: reconciled{world: newWorld(t, set)}}
	l.ours = driven{world: newWorld(t, set), policy: policyOf(set)}
	l.theirs.controller = controllers.NewJobSetReconciler(l.theirs.cached, l.theirs.cached.Scheme(), &l.theirs)
	return l
}

// happen lets one to three Jobs end, or begin to end, in any order of their names and often in the same second.
func (l *life) happen(succeed bool) {
	var batch []change
	jobs := kube.List[*batchv1.Job](l.theirs.server, l.theirs.set.Namespace)
	for _, i := range l.Perm(len(jobs))[:min(1+l.IntN(3), len(jobs))] {
		batch = append(batch, l.draw(jobs[i], succeed))
	}
	l.theirs.apply(batch)
	l.later = append(l.later, batch)
}

// draw draws what happens to a Job: nothing, if it has ended.
func (l *life) draw(j *batchv1.Job, succeed bool) change {
	fails, had := !succeed && l.IntN(2) == 0, j.Status.Conditions
	types := []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete}
	if len(had) == 0 && fails || len(had) > 0 && had[0].Type == batchv1.JobFailureTarget {
		types = []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobFailed}
	}
	if len(had) == 0 && l.IntN(4) == 0 {
		types = types[:1]
	}
	l.now += l.IntN(3)
	at := metav1.NewTime(start.Add(time.Duration(l.now) * time.Second))
	c := change{name: j.Name, before: shown(j), deleted: j.DeletionTimestamp != nil}
	for _, of := range types[len(had):] {
		c.add = append(c.add, batchv1.JobCondition{Type: of, Status: corev1.ConditionTrue, LastTransitionTime: at,
			Reason: pick(l.Rand, allReasons...), Message: pick(l.Rand, messages...)})
	}
	return c
}

// sync lets both controllers come to rest. What happened to JobSet's Jobs happens to ours in the same order, each as
// soon as there is the Job.
func (l *life) sync() error {
	err := l.theirs.rest(l.theirs.sync)
	for rested := false; err == nil; rested = true {
		if len(l.later) > 0 && l.ours.apply(l.later[0]) {
			l.later = l.later[1:]
		} else if rested {
			return nil
		}
		err = l.ours.rest(l.ours.sync)
	}
	return err
}

// compare returns how the sets differ, apart from two differences:
//
//   - ending: when the set fails, JobSet deletes Jobs that are ending, and group lets them end.
//   - blocking: with the strategy Recreate, JobSet replaces a Job while others are still being deleted, and group does
//     not. As long as there are any, each may lack Jobs, and what happens to JobSet's new Jobs happens to ours later.
func (l *life) compare(theirs, ours view) string {
	for _, name := range l.ours.ending {
		if theirs.Jobs[name] != "" || ours.Jobs[name] == "" {
			return fmt.Sprintf("%s was ending: JobSet leaves %q, group %q", name, theirs.Jobs[name], ours.Jobs[name])
		}
		delete(theirs.Deleted, name)
		delete(ours.Jobs, name)
	}
	p := l.ours.set.Spec.FailurePolicy
	blocking := p == nil || p.RestartStrategy == v1alpha2.BlockingRecreate
	switch {
	case len(l.later) > 0 && (blocking || len(ours.Deleted) == 0):
		return fmt.Sprintf("group lacks a Job of %+v", l.later[0])
	case len(l.later) > 0:
		theirs, ours = view{Told: theirs.Told[:min(len(ours.Told), len(theirs.Told))]}, view{Told: ours.Told}
	case !blocking && len(theirs.Deleted)+len(ours.Deleted) > 0:
		maps.DeleteFunc(theirs.Jobs, func(name, _ string) bool { return ours.Jobs[name] == "" })
		maps.DeleteFunc(ours.Jobs, func(name, _ string) bool { return theirs.Jobs[name] == "" })
		theirs.Deleted, ours.Deleted = nil, nil
	}
	return cmp.Diff(theirs, ours, cmp.AllowUnexported(decision{}))
}

// run runs the life until the set has ended and no Job is being deleted, and counts what it has seen.
func (l *life) run(seen map[string]int) error {
	for n := range 1000 {
		if err := l.sync(); err != nil {
			return err
		}
		theirs, ours := l.theirs.view(), l.ours.view()
		waits := len(l.later)+len(theirs.Deleted)+len(ours.Deleted) > 0
		diff := l.compare(theirs, ours)
		switch {
		case diff != "":
			return fmt.Errorf("after %d steps (-JobSet +group):\n%s", n, diff)
		case len(l.later) > 0:
			seen["difference: blocking"]++
		case theirs.Now.reason != "" && !waits:
			seen["difference: ending"] += len(l.ours.ending)
			seen[theirs.Now.reason]++
			for _, d := range theirs.Told {
				seen[d.reason]++
			}
			return nil
		}
		if l.IntN(2) == 0 {
			l.happen(n > 20)
		}
		for _, m := range membersOf(l.ours.set) {
			if l.IntN(3) == 0 {
				l.theirs.finish(m.Name)
				l.ours.finish(m.Name)
			}
		}
	}
	return errors.New("the set does not end")
}

// JobSet's controller and group.Driver do the same, apart from the differences that compare names: they make the same
// decisions, with the same numbers of restarts, delete and create the same Jobs, and end the set in the same way. Both
// list the Jobs by name, so that of failures of the same second both take the first.
func TestLives(t *testing.T) {
	features.SetFeatureGateDuringTest(t, features.RestartJob, true)
	seen := map[string]int{}
	for n := range *lives {
		l := newLife(t, n)
		if err := l.run(seen); err != nil {
			t.Fatalf("life %d: %v\npolicy %+v", n, err, l.ours.set.Spec.FailurePolicy)
		}
	}
	t.Logf("%d lives with JobSet's controller and with group: %v", *lives, seen)
	if len(seen) != 11 {
		t.Error("not all actions, ends and differences are seen")
	}
}

// Bugs of our side are found in a life whose policy has only the default rule.
func TestLives_planted(t *testing.T) {
	features.SetFeatureGateDuringTest(t, features.RestartJob, true)
	for name, plant := range map[string]func(*driven){
		"no restart is counted": func(d *driven) { d.policy.Rules[0].Steps[0].Charges = nil },
		"no Job is deleted":     func(d *driven) { d.never = group.DeleteMember },
	} {
		l := newLife(t, 0)
		plant(&l.ours)
		if err := l.run(map[string]int{}); err == nil {
			t.Errorf("%s: not found", name)
		}
	}
}
