package lifetime

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/inside"
	"github.com/jobfate/jobfate/machine"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

// jobfateSide is a Machine, which reads the watches of its life.
type jobfateSide struct {
	like    likeness
	machine *machine.Machine
	life    *life
	wrote   map[*watch]string // the versions of its last writes
}

// likeness is a set of divergences without which jobfate behaves like the real controller.
type likeness uint8

const (
	// Skip each sync while a watch has not shown the last write.
	unobservedWrites likeness = 1 << iota
	// Set no timer for the work that the caps leave.
	workIsLeft
	// Do not name the version of the pod in a patch.
	guardedPatch
	// Do not wait for the deletions at the end of a Job to be observed.
	inFlightAtEnd
	// Set no timer for indexes that back off if others get a pod.
	delayOfOthers
	// Delete the pods of a Job that ends before its verdict is stored.
	verdictUnstored
)

// likenesses has their names in docs/divergences.md.
var likenesses = []string{"unobserved-counts", "work-left", "guarded-patches", "in-flight-end", "least-delay", "stored-verdict"}

func (l likeness) has(d likeness) bool { return l&d != 0 }

// String returns the names.
func (l likeness) String() string {
	var names []string
	for i, name := range likenesses {
		if l.has(1 << i) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

var guard = regexp.MustCompile(`"resourceVersion":"[0-9]*",`)

func newJobfateSide(p *plan, like likeness) *jobfateSide {
	m := machine.New(decide.MaxUncounted(p.limits.MaxUncounted), decide.MaxChanges(p.limits.MaxCreateDelete))
	if like.has(verdictUnstored) {
		inside.Decide(m, inside.DeletingFirst)
	}
	return &jobfateSide{like: like, machine: m, wrote: map[*watch]string{}}
}

func (j *jobfateSide) observe(_, _ *corev1.Pod) {}

var errStale = errors.New("the caches are older than a write")

func (j *jobfateSide) sync(l *life) ([]time.Duration, error) {
	stale := older(l.upTo(&l.jobs), j.wrote[&l.jobs]) || older(l.upTo(&l.pods), j.wrote[&l.pods])
	if stale && j.like.has(unobservedWrites) {
		return nil, errStale
	}
	j.life = l
	cache := l.NewCache(true)
	defer cache.Stop()
	out := l.Run(j, cache)
	if out.After > 0 {
		return []time.Duration{out.After}, out.Err
	}
	return nil, out.Err
}

func older(version, than string) bool {
	a, _ := strconv.Atoi(version)
	b, _ := strconv.Atoi(than)
	return a < b
}

// Sync implements cluster.Controller.
func (j *jobfateSide) Sync(client *cluster.Client) (time.Duration, error) {
	l := j.life
	err := j.machine.Begin(machine.View{
		Job: l.job, Pods: l.seen(), Now: l.Now,
		JobsVersion: l.upTo(&l.jobs), PodsVersion: l.upTo(&l.pods), Barrier: "1",
	})
	if err != nil {
		return 0, err
	}
	result := j.machine.Run(func(r machine.Request) (runtime.Object, error) {
		if j.like.has(guardedPatch) && r.Verb == machine.PatchPod {
			r.Patch = guard.ReplaceAll(r.Patch, nil)
		}
		j.checkVerdict(l, r)
		object, err := client.Do(r)
		switch {
		case err != nil:
		case r.Verb == machine.PatchStatus:
			l.wrote()
			j.wrote[&l.jobs] = strconv.Itoa(l.Version())
		case r.Verb == machine.CreatePod || r.Verb == machine.PatchPod:
			j.wrote[&l.pods] = strconv.Itoa(l.Version())
		}
		return object, err
	})
	for _, d := range result.Decision.Delete {
		if inside.ForEnd(d) && j.like.has(inFlightAtEnd) {
			delete(inside.Memory(j.machine).Deleted, d.Pod.UID)
		}
	}
	deferred := result.Decision.Deferred != (decide.Deferred{})
	others := l.job.Spec.BackoffLimitPerIndex != nil && len(result.Decision.Create) > 0
	if deferred && j.like.has(workIsLeft) || others && j.like.has(delayOfOthers) {
		if f := result.Decision.Facts(); f != nil && !f.Plan.Deadline.IsZero() {
			return f.Plan.Deadline.Sub(f.Now), result.Err
		}
		return 0, result.Err
	}
	return result.Requeue, result.Err
}

// checkVerdict checks S22: no pod is deleted because the Job ends before the verdict is stored.
func (j *jobfateSide) checkVerdict(l *life, r machine.Request) {
	if r.Verb != machine.DeletePod || j.like.has(verdictUnstored) {
		return
	}
	ends := func(d decide.Deletion) bool { return d.Cause == decide.CauseJobEnds && d.Pod.UID == r.UID }
	if !slices.ContainsFunc(j.machine.Result().Decision.Delete, ends) {
		return
	}
	l.verdicts++
	if !slices.ContainsFunc(l.Job().Status.Conditions, isInterim) {
		l.violation = "S22: " + r.Name + " is deleted for a verdict that is not stored"
	}
}

func isInterim(c batchv1.JobCondition) bool {
	return c.Status == corev1.ConditionTrue &&
		(c.Type == batchv1.JobFailureTarget || c.Type == batchv1.JobSuccessCriteriaMet)
}

// kubernetesSide is the real controller with its default gates, which reads the watches of its life.
type kubernetesSide struct {
	limits real.Limits
	memory real.Memory
	syncs  int
	skips  int // syncs that it has skipped because its caches were stale
}

// observe does what the event handlers of the controller do with their expectations.
func (k *kubernetesSide) observe(before, after *corev1.Pod) {
	if before == nil && after != nil && after.DeletionTimestamp == nil {
		k.memory.Creations = max(0, k.memory.Creations-1)
	}
	if after == nil || after.DeletionTimestamp != nil {
		k.memory.Deletions = max(0, k.memory.Deletions-1)
	}
	if !builtin.HasFinalizer(after) {
		uid := cmp.Or(after, before).UID
		k.memory.Stripped = slices.DeleteFunc(slices.Clone(k.memory.Stripped), func(o types.UID) bool { return o == uid })
	}
}

func (k *kubernetesSide) sync(l *life) ([]time.Duration, error) {
	pods := l.seen()
	in := real.Input{
		Job: l.job, Live: l.Job(), Pods: pods, Now: l.Now, Validate: true, Memory: k.memory, Limits: k.limits,
		Cached: real.Versions{Jobs: l.upTo(&l.jobs), Pods: l.upTo(&l.pods)},
		Fail: real.Faults{
			Delete: map[string]error{}, Strip: map[string]error{}, StripToDelete: map[string]error{},
			Status: map[int]error{},
		},
	}
	if l.job.ResourceVersion != l.Job().ResourceVersion {
		in.Fail.Status[0], in.Fail.Status[1] = real.ErrConflict, real.ErrConflict
	}
	byName := map[string]*corev1.Pod{}
	for _, pod := range pods {
		byName[pod.Name] = pod
		if l.Pod(pod.UID) == nil {
			for _, gone := range []map[string]error{in.Fail.Delete, in.Fail.Strip, in.Fail.StripToDelete} {
				gone[pod.Name] = real.ErrNotFound
			}
		}
	}
	out := real.Sync(in)
	if out.Panic != nil {
		panic(out.Panic)
	}
	k.syncs++
	if out.Stale {
		k.skips++
		return out.Requeues, out.Err
	}
	k.memory = out.Memory
	for _, c := range out.Calls {
		if l.killed() {
			break
		}
		if c.Err == nil {
			k.carryOut(l, c, byName[c.Pod])
		}
	}
	return out.Requeues, out.Err
}

// carryOut applies a write of the controller, and remembers its version as the controller does. It
// does not remember deletions.
func (k *kubernetesSide) carryOut(l *life, c real.Call, pod *corev1.Pod) {
	switch c.Kind {
	case real.Create:
		sent := c.Object.DeepCopy()
		sent.Namespace = l.job.Namespace
		k.memory.Wrote.Pods = l.Add(sent).ResourceVersion
	case real.Delete:
		l.Delete(pod.UID, cluster.DefaultGrace)
	case real.Strip, real.StripToDelete:
		l.Edit(pod.UID, func(p *corev1.Pod) { p.Finalizers = slices.DeleteFunc(p.Finalizers, isTracking) })
		if after := l.Pod(pod.UID); after != nil {
			k.memory.Wrote.Pods = after.ResourceVersion
		}
	case real.WriteStatus:
		l.SetStatus(*podtest.Copied(c.Status)) // its times have no fractions of a second
		l.wrote()
		k.memory.Wrote.Jobs = l.Job().ResourceVersion
	default:
		panic(fmt.Sprintf("a life without orphans has the call %s", c.Kind))
	}
}
