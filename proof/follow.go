package proof

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// The places of the variables of the API server and of a controller, in the order of model.sexp.
const (
	alive = iota
	deleting
	ft
	scm
	done
	inF
	inS
	lr
	fp
	fr
	sp
	sr
	comp
	fail
	scaled
	born
	own
	had
	lost
	fin
	ended
	killed
	counted
	ofServer
)

const (
	knows = iota
	met
	mF
	mS
	mP
	on
	cur
	listing
	compl
	over
	dec
	sees
	adopts
	pcur
	overP
	finP
	good
	counts
	verdict
	ofController
)

// leaders is how many processes there may be at a time.
const leaders = 2

// pod is the state of the model for one pod, and for the index of the pod. A pod without a UID was
// not created yet: it stands for the index of no pod. Two states are equal if the values are.
type pod struct {
	uid    types.UID
	index  int32
	server [ofServer]int16
	of     [leaders][ofController]int16
	// acked says that a process got the answer to the removal of the finalizer.
	acked [leaders]bool
	// out says that somebody has broken an assumption with this pod. It is not followed further.
	out bool
}

// world is the state of the model for all pods, and what the processes decide on. Worlds are immutable.
type world struct {
	uid  types.UID // of the Job
	pods []*pod
	by   [leaders]process
	// lowered says that completions were lowered.
	indexed, lowered bool
}

// process is what a process decides on.
type process struct {
	id    int // 0: none
	view  *cluster.View
	job   *batchv1.Job // nil until it has read or used one in this sync
	known string       // the newest version of the Job that it has read or stored
	sent  bool         // it has sent a request in this sync
	waits bool         // the Job of the view is older than known
}

// Refusal is a step that is no step of the model.
type Refusal struct {
	Action, Text string
}

// Error describes the step.
func (r *Refusal) Error() string { return r.Action + ": " + r.Text }

// Counts are what a Follower has checked.
type Counts struct {
	// Steps is the number of events, Checks that of pairs of states, each of one pod and one index.
	Steps, Checks int64
	// Actions counts the checked pairs by action, Out the pods that are not followed further by the
	// assumption that was broken.
	Actions, Out map[string]int64
}

// add adds what another Follower has checked.
func (c *Counts) add(o *Counts) {
	if c.Actions == nil {
		c.Actions, c.Out = map[string]int64{}, map[string]int64{}
	}
	c.Steps += o.Steps
	c.Checks += o.Checks
	for name, n := range o.Actions {
		c.Actions[name] += n
	}
	for name, n := range o.Out {
		c.Out[name] += n
	}
}

// Follower checks that what happens in a cluster are steps of the model.
type Follower struct {
	// Cap is the number of pods that the uncounted lists may hold; 0 means 500.
	Cap int16
	// Versions says that resource versions are those of a real cluster: they never repeat.
	Versions bool
	Counts
	Refused *Refusal

	p       *program
	known   map[pod]*pod
	checked map[check]bool
	policy  policies
	sets    map[string]uint64
}

type check struct {
	action        string
	before, after *pod
	actor         int
	given         [3]int16
}

// NewFollower returns a Follower.
func NewFollower(p *program) *Follower {
	return &Follower{p: p, known: map[pod]*pod{}, checked: map[check]bool{}, sets: map[string]uint64{},
		Counts: Counts{Actions: map[string]int64{}, Out: map[string]int64{}}}
}

// intern returns the one pod that is equal.
func (f *Follower) intern(p *pod) *pod {
	if same, ok := f.known[*p]; ok {
		return same
	}
	next := *p
	f.known[next] = &next
	return &next
}

// slot returns the place of a process.
func (w *world) slot(id int) int {
	return slices.IndexFunc(w.by[:], func(p process) bool { return p.id == id })
}

// step makes a step for all pods, and checks it for each. It changes the world, which the caller has copied.
func (f *Follower) step(w *world, action string, actor int, given [3]int16, change func(*pod)) {
	for i, before := range w.pods {
		after := *before
		change(&after)
		if after.out {
			w.pods[i] = f.intern(&after)
			if !before.out {
				f.Out["kept"]++
			}
			continue
		}
		w.pods[i] = f.intern(&after)
		f.check(w, check{action, before, w.pods[i], actor, given})
	}
}

// stepOne makes a step that is about one pod.
func (f *Follower) stepOne(w *world, uid types.UID, action string, actor int, change func(*pod)) {
	at := w.find(uid)
	if at < 0 || w.pods[at].out {
		return
	}
	before, after := w.pods[at], *w.pods[at]
	change(&after)
	w.pods[at] = f.intern(&after)
	if !after.out {
		f.check(w, check{action, before, w.pods[at], actor, [3]int16{}})
	}
}

func (w *world) find(uid types.UID) int {
	return slices.IndexFunc(w.pods, func(p *pod) bool { return p.uid == uid && uid != "" })
}

// check checks a step for one pod.
func (f *Follower) check(w *world, k check) {
	f.Checks++
	f.Actions[k.action]++
	if f.checked[k] {
		return
	}
	s := f.frame(w, k)
	a := f.p.actions[k.action]
	if a.holds(s) == 0 {
		if f.Refused == nil {
			f.Refused = &Refusal{k.action, fmt.Sprintf("of %s %s, index %d, by %d: not true: %s\nbefore: %s\nafter:  %s", w.uid, k.before.uid, k.before.index,
				k.actor+1, strings.Join(a.wrong(s), ", "), f.p.show(s.before), f.p.show(s.after))}
		}
		return
	}
	if !w.lowered {
		for _, c := range f.p.invariant {
			if c.holds(&frame{s.consts, s.after, s.after, nil}) == 0 && f.Refused == nil {
				f.Refused = &Refusal{k.action, fmt.Sprintf("of %s, index %d, by %d: the invariant does not hold after it: %s\nbefore: %s\nafter:  %s",
					k.before.uid, k.before.index, k.actor+1, c.text, f.p.show(s.before), f.p.show(s.after))}
			}
		}
	}
	f.checked[k] = true
}

// frame returns the values of a step. c is the actor, and o the other process.
func (f *Follower) frame(w *world, k check) *frame {
	s := &frame{given: k.given[:]}
	s.consts = append(s.consts, truth(w.indexed), truth(k.before.uid != ""), cmp.Or(f.Cap, 500))
	for _, a := range f.p.Assumptions {
		s.consts = append(s.consts, truth(a.Name != "growing" || !w.lowered))
	}
	s.before, s.after = k.before.values(k.actor), k.after.values(k.actor)
	return s
}

func (p *pod) values(actor int) []int16 {
	all := make([]int16, 0, ofServer+2*ofController)
	all = append(all, p.server[:]...)
	all = append(all, p.of[actor][:]...)
	return append(all, p.of[1-actor][:]...)
}

// show lists the values that are not zero.
func (p *program) show(values []int16) string {
	var b strings.Builder
	for i, v := range p.Variables() {
		switch n := values[i]; {
		case n == 0:
		case v.Type == "Bool":
			b.WriteString(v.Name + " ")
		default:
			b.WriteString(v.Name + "=" + strconv.Itoa(int(n)) + " ")
		}
	}
	return b.String()
}

// begin returns the world of a Job before anything has happened to it.
func (f *Follower) begin(w *world, job *batchv1.Job) {
	w.uid, w.indexed, w.lowered = job.UID, indexed(job), false
	w.pods = nil
	for i := range w.by {
		w.by[i].job, w.by[i].view, w.by[i].known = nil, nil, ""
	}
	n := int32(0)
	if indexed(job) {
		n = *job.Spec.Completions
	}
	for i := range n {
		f.addUnborn(w, job, i)
	}
	if n == 0 {
		f.addUnborn(w, job, -1)
	}
}

func (f *Follower) addUnborn(w *world, job *batchv1.Job, index int32) {
	p := pod{index: index}
	f.putJob(&p, job)
	w.pods = append(w.pods, f.intern(&p))
}

func indexed(job *batchv1.Job) bool {
	return job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batchv1.IndexedCompletion
}

func isTrue(job *batchv1.Job, kinds ...batchv1.JobConditionType) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && slices.Contains(kinds, c.Type)
	})
}

// isLast reports whether a Job is over, as the model says it.
func isLast(job *batchv1.Job) bool {
	return job.DeletionTimestamp != nil || isTrue(job, batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuccessCriteriaMet)
}

func lists(job *batchv1.Job) (failed, succeeded []types.UID) {
	if u := job.Status.UncountedTerminatedPods; u != nil {
		return u.Failed, u.Succeeded
	}
	return nil, nil
}

// putJob writes what a Job says to the state of a pod. The parts of the pod in the counters stay.
func (f *Follower) putJob(p *pod, job *batchv1.Job) {
	s := &p.server
	if s[alive] = truth(job != nil); job == nil {
		return
	}
	failed, succeeded := lists(job)
	s[deleting] = truth(job.DeletionTimestamp != nil)
	s[ft], s[scm] = truth(isTrue(job, batchv1.JobFailureTarget)), truth(isTrue(job, batchv1.JobSuccessCriteriaMet))
	s[done] = truth(isTrue(job, batchv1.JobComplete, batchv1.JobFailed))
	s[inF], s[inS] = truth(slices.Contains(failed, p.uid)), truth(slices.Contains(succeeded, p.uid))
	s[lr] = int16(len(failed)+len(succeeded)) - s[inF] - s[inS]
	s[fr], s[sr] = int16(job.Status.Failed)-s[fp], int16(job.Status.Succeeded)-s[sp]
	s[comp] = truth(f.has(job.Status.CompletedIndexes, p.index))
	s[fail] = truth(job.Status.FailedIndexes != nil && f.has(*job.Status.FailedIndexes, p.index))
}

// has reports whether a list of indexes has an index below 64.
func (f *Follower) has(list string, index int32) bool {
	if list == "" || index < 0 || index > 63 {
		return false
	}
	set, ok := f.sets[list]
	if !ok {
		for part := range strings.SplitSeq(list, ",") {
			from, to, ranged := strings.Cut(part, "-")
			a, _ := strconv.Atoi(from)
			b := a
			if ranged {
				b, _ = strconv.Atoi(to)
			}
			for i := a; i <= b && i < 64; i++ {
				set |= 1 << i
			}
		}
		f.sets[list] = set
	}
	return set&(1<<index) != 0
}

// Follow checks an event and returns the world after it. A nil world is that before the first event.
func (f *Follower) Follow(before *world, e *cluster.Event) *world {
	w := &world{}
	if before != nil {
		*w = *before
		w.pods = slices.Clone(w.pods)
	}
	for _, job := range []*batchv1.Job{e.OldJob, e.Job} {
		if job != nil && job.UID != w.uid {
			f.begin(w, job)
			for _, p := range e.OldPods {
				f.bear(w, job, p, false)
			}
		}
	}
	at := w.slot(e.Leader)
	if e.Leader != 0 && at < 0 {
		if at = w.slot(0); at < 0 {
			return w
		}
		w.by[at] = process{id: e.Leader}
	}
	switch e.Kind {
	case cluster.Started:
		w.by[at] = process{id: e.Leader}
		f.step(w, "start", at, [3]int16{}, func(p *pod) { p.restart(at) })
	case cluster.Stopped:
		f.abandon(w, at)
		w.by[at] = process{}
	case cluster.Began:
		f.abandon(w, at)
		by := &w.by[at]
		by.view, by.job, by.sent, by.waits = e.View, nil, false, e.Behind
		if job := e.View.Job; job == nil || job.UID != w.uid {
			by.view = nil
		} else if f.Versions && older(job.ResourceVersion, by.known) {
			by.waits = true
		}
	case cluster.Ended:
		if by := &w.by[at]; !by.sent && !by.waits && by.view != nil && f.mayLook(w, at, e) {
			f.look(w, at, e)
		}
		f.abandon(w, at)
		w.by[at].view = nil
	case cluster.Sent:
		f.sent(w, at, e)
	case cluster.Changed:
		f.others(w, e)
	}
	return w
}

// restart empties the memory of a process.
func (p *pod) restart(at int) {
	c := &p.of[at]
	c[knows], c[met], c[mF], c[mS], c[mP], c[on], c[cur] = 0, 0, 0, 0, 0, 0, 0
	p.acked[at] = false
}

func (f *Follower) abandon(w *world, at int) {
	if w.by[at].job == nil {
		return
	}
	w.by[at].job = nil
	f.step(w, "abandon", at, [3]int16{}, func(p *pod) { p.of[at][on] = 0 })
}

func older(a, b string) bool {
	return len(a) < len(b) || len(a) == len(b) && a < b
}

func newest(a, b string) string {
	if older(a, b) {
		return b
	}
	return a
}

// sent checks a request.
func (f *Follower) sent(w *world, at int, e *cluster.Event) {
	by := &w.by[at]
	by.sent = true
	switch e.Request.Verb {
	case cluster.GetPod:
		return
	case cluster.Get:
		if e.Answered && e.Err == nil && e.OldJob != nil && e.OldJob.UID == w.uid {
			by.known = newest(by.known, e.OldJob.ResourceVersion)
			f.get(w, at, e.OldJob)
		}
		return
	case cluster.List:
		if e.Answered && e.Err == nil && by.job != nil {
			f.list(w, at, e)
		}
		return
	case cluster.Create:
		if e.Pod != nil {
			f.bear(w, e.Job, e.Pod, true)
		}
		return
	}
	if by.view != nil && !w.decided(at) && w.ownWrite(by.view, e.Request) {
		f.look(w, at, e)
	}
	switch e.Request.Verb {
	case cluster.Status:
		f.status(w, at, e)
	case cluster.Patch:
		f.patch(w, at, e)
	default:
		if e.OldPod != nil {
			f.changed(w, e.OldPod, e.Pod)
		}
	}
}

// ownWrite reports whether a write is one of the Job, and not one that frees orphans.
func (w *world) ownWrite(v *cluster.View, r *cluster.Request) bool {
	if r.Verb == cluster.Status {
		return true
	}
	shown := find(v.Pods, r.UID)
	return shown != nil && (controller(shown) == w.uid ||
		controller(shown) == "" && bytes.Contains(r.Patch, []byte("ownerReferences")))
}

func (w *world) decided(at int) bool { return w.pods[0].of[at][on] != 0 }

func controller(pod *corev1.Pod) types.UID {
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		return ref.UID
	}
	return ""
}

// get checks the reading of the Job.
func (f *Follower) get(w *world, at int, job *batchv1.Job) {
	w.by[at].job = job
	f.step(w, "get", at, [3]int16{}, func(p *pod) {
		c, s := &p.of[at], &p.server
		c[on], c[cur], c[listing], c[compl] = 0, s[alive], s[inF]|s[inS], s[comp]
		c[over] = truth(isLast(job))
		c[dec] = c[over] | s[ft]
	})
}

// list checks a live list of the pods.
func (f *Follower) list(w *world, at int, e *cluster.Event) {
	job := w.by[at].job
	f.step(w, "list", at, [3]int16{}, func(p *pod) {
		c, s := &p.of[at], &p.server
		c[on] = 1
		f.see(p, at, job, find(e.OldPods, p.uid))
		c[pcur] = truth(find(e.OldPods, p.uid) != nil)
		if s[had] != 0 {
			c[met] = 1
			if s[own]&s[fin] == 0 {
				c[knows] = 1
			}
		}
	})
}

func find(pods []*corev1.Pod, uid types.UID) *corev1.Pod {
	for _, p := range pods {
		if p.UID == uid && uid != "" {
			return p
		}
	}
	return nil
}

// isNew reports whether the pods of a view are as new as its Job.
func isNew(v *cluster.View) int16 {
	return truth(!older(v.PodsVersion, v.Job.ResourceVersion))
}

// look checks a decision on the content of caches.
func (f *Follower) look(w *world, at int, e *cluster.Event) {
	v := w.by[at].view
	w.by[at].job = v.Job
	given := [3]int16{int16(v.Job.Status.Failed), int16(v.Job.Status.Succeeded), isNew(v)}
	f.step(w, "look", at, given, func(p *pod) { f.lookAt(p, at, v, given, e) })
}

// mayLook reports whether the model allows it. A sync that sends no request may have decided or not.
func (f *Follower) mayLook(w *world, at int, e *cluster.Event) bool {
	v := w.by[at].view
	given := [3]int16{int16(v.Job.Status.Failed), int16(v.Job.Status.Succeeded), isNew(v)}
	for _, before := range w.pods {
		after := *before
		f.lookAt(&after, at, v, given, e)
		if !after.out && f.p.actions["look"].holds(f.frame(w, check{"look", before, &after, at, given})) == 0 {
			return false
		}
	}
	return true
}

func (f *Follower) lookAt(p *pod, at int, v *cluster.View, given [3]int16, e *cluster.Event) {
	c, s := &p.of[at], &p.server
	failed, succeeded := lists(v.Job)
	shown := find(v.Pods, p.uid)
	c[on], c[mF], c[mS] = 1, given[0], given[1]
	c[cur] = truth(e.OldJob != nil && e.OldJob.UID == v.Job.UID && e.OldJob.ResourceVersion == v.Job.ResourceVersion)
	c[listing] = truth(slices.Contains(failed, p.uid) || slices.Contains(succeeded, p.uid))
	c[mP] = c[listing]
	c[compl] = truth(f.has(v.Job.Status.CompletedIndexes, p.index))
	c[over] = truth(isLast(v.Job))
	c[dec] = c[over] | truth(isTrue(v.Job, batchv1.JobFailureTarget))
	f.see(p, at, v.Job, shown)
	// The assumption kept does not hold for this pod.
	p.out = p.out || c[adopts] != 0 && c[met] != 0 && s[own]&s[fin] != 0
	stored := find(e.OldPods, p.uid)
	c[pcur] = truth(shown != nil && stored != nil && shown.ResourceVersion == stored.ResourceVersion)
	isnew := given[2] != 0
	if isnew && (s[fp] > 0 && given[0] == s[fp]+s[fr] || s[sp] > 0 && given[1] == s[sp]+s[sr]) {
		c[knows] = 1
	}
	if s[had] != 0 && s[own]&s[fin] == 0 && (c[adopts] != 0 || c[sees] == 0) && (p.of[at][met] != 0 || isnew && c[listing] != 0) {
		c[knows] = 1
	}
	if c[sees] != 0 && c[adopts] == 0 || isnew && c[listing] != 0 {
		c[met] = 1
	}
}

// see sets what a process sees of a pod.
func (f *Follower) see(p *pod, at int, job *batchv1.Job, shown *corev1.Pod) {
	c := &p.of[at]
	c[sees], c[adopts], c[overP], c[finP], c[good], c[counts], c[verdict] = 0, 0, 0, 0, 0, 0, 0
	if shown == nil || shown.Namespace != job.Namespace {
		return
	}
	r := f.policy.of(job)
	owner := controller(shown)
	c[adopts] = truth(owner == "" && r.selects(shown) && shown.DeletionTimestamp == nil &&
		job.DeletionTimestamp == nil && !isTrue(job, batchv1.JobComplete, batchv1.JobFailed))
	c[sees] = c[adopts] | truth(owner == job.UID && hasFinalizer(shown) && !p.acked[at])
	phase := shown.Status.Phase
	c[overP] = truth(cluster.HasEnded(shown))
	c[finP] = c[overP] | truth(shown.DeletionTimestamp != nil && !r.failedOnly)
	c[good] = truth(phase == corev1.PodSucceeded)
	failed, succeeded := lists(job)
	if c[finP] != 0 {
		switch {
		case slices.Contains(failed, p.uid):
			c[good] = 0
		case slices.Contains(succeeded, p.uid):
			c[good] = 1
		}
	}
	action := r.action(shown)
	valid := !indexed(job) || p.index >= 0 && p.index < *job.Spec.Completions
	c[counts] = truth(valid && (c[good] != 0 || action != batchv1.PodFailurePolicyActionIgnore))
	c[verdict] = truth(phase == corev1.PodFailed && c[good] == 0 && owner == job.UID && r.selects(shown) &&
		action == batchv1.PodFailurePolicyActionFailJob)
}

// status checks a write of the status.
func (f *Follower) status(w *world, at int, e *cluster.Event) {
	old, now := e.OldJob, e.Job
	if e.Invalid != nil {
		f.refuse("store", "the API server refuses the status: %v", e.Invalid)
	}
	if old == nil || now == nil || old.UID != w.uid || old.ResourceVersion == now.ResourceVersion {
		f.abandon(w, at) // it had no effect, and the sync ends
		return
	}
	if e.Answered && e.Err == nil {
		w.by[at].known = newest(w.by[at].known, now.ResourceVersion)
	}
	f.sum(old, now)
	f.step(w, "store", at, [3]int16{}, func(p *pod) {
		f.stored(p, now)
		c, s := &p.of[at], &p.server
		p.of[1-at][cur] = 0
		if !e.Answered || e.Err != nil {
			c[on], c[cur] = 0, 0
			return
		}
		listed := s[inF] | s[inS]
		c[cur], c[listing], c[compl] = 1, c[listing]|listed, c[compl]|s[comp]
		c[over] |= s[scm] | s[done]
		c[dec] |= s[ft] | s[scm] | s[done]
		c[mF], c[mS], c[mP] = s[fp]+s[fr], s[sp]+s[sr], listed
	})
	if !e.Answered || e.Err != nil {
		w.by[at].job = nil
	}
}

// stored puts a new status into the state of a pod, and counts what the pod adds to the counters.
func (f *Follower) stored(p *pod, now *batchv1.Job) {
	s := &p.server
	wasF, wasS := s[inF], s[inS]
	failed, succeeded := lists(now)
	isF, isS := slices.Contains(failed, p.uid), slices.Contains(succeeded, p.uid)
	s[fp] += truth(wasF != 0 && !isF)
	s[sp] += truth(wasS != 0 && !isS)
	s[counted] += truth(wasF+wasS == 0 && (isF || isS))
	f.putJob(p, now)
}

// sum checks that the counters grow by the number of pods that leave the lists.
func (f *Follower) sum(old, now *batchv1.Job) {
	wasF, wasS := lists(old)
	isF, isS := lists(now)
	left := func(was, is []types.UID) (n int32) {
		for _, uid := range was {
			if !slices.Contains(is, uid) {
				n++
			}
		}
		return n
	}
	if got, want := now.Status.Failed-old.Status.Failed, left(wasF, isF); got != want {
		f.refuse("store", "failed grows by %d, but %d pods leave the list", got, want)
	}
	if got, want := now.Status.Succeeded-old.Status.Succeeded, left(wasS, isS); !indexed(now) && got != want {
		f.refuse("store", "succeeded grows by %d, but %d pods leave the list", got, want)
	}
}

func (f *Follower) refuse(action, format string, args ...any) {
	if f.Refused == nil {
		f.Refused = &Refusal{action, fmt.Sprintf(format, args...)}
	}
}

// patch checks a patch of a pod.
func (f *Follower) patch(w *world, at int, e *cluster.Event) {
	r := e.Request
	ok := e.Answered && (e.Err == nil || apierrors.IsNotFound(e.Err))
	switch old, now := e.OldPod, e.Pod; {
	case old != nil && now != nil && controller(old) == "" && controller(now) != "":
		f.adopted(w, at, e)
	case old != nil && (now == nil || hasFinalizer(old) && !hasFinalizer(now)):
		if now != nil && controller(old) == w.uid && controller(now) == "" {
			f.out(w, old.UID, "released")
			return
		}
		f.stripped(w, at, old.UID, ok, e)
		f.changed(w, withoutFinalizer(old), now)
	case old != nil && old != now:
		if ok && !hasFinalizer(old) {
			f.learn(w, at, r.UID)
		}
		f.changed(w, old, now)
	case ok:
		f.learn(w, at, r.UID)
	}
}

// learn checks an answer that shows that the pod, or its finalizer, was gone before.
func (f *Follower) learn(w *world, at int, uid types.UID) {
	i := w.find(uid)
	if i < 0 {
		return
	}
	switch c := &w.pods[i].of[at]; {
	case c[on]&c[adopts] != 0:
		f.stepOne(w, uid, "miss", at, func(p *pod) { p.of[at][sees], p.of[at][adopts] = 0, 0 })
	case c[on]&c[sees] != 0:
		f.stepOne(w, uid, "learn", at, func(p *pod) {
			p.of[at][sees], p.of[at][knows], p.acked[at] = 0, 1, true
		})
	}
}

// adopted checks an adoption.
func (f *Follower) adopted(w *world, at int, e *cluster.Event) {
	i := w.find(e.Pod.UID)
	if i >= 0 && w.pods[i].server[counted] != 0 && controller(e.Pod) == w.uid {
		f.out(w, e.Pod.UID, "once")
		return
	}
	f.stepOne(w, e.Pod.UID, "adopt", at, func(p *pod) {
		c, o, s := &p.of[at], &p.of[1-at], &p.server
		s[own], s[had], s[fin] = 1, 1, 1
		c[knows], o[knows], o[pcur] = 0, 0, 0
		if e.Answered && e.Err == nil {
			c[adopts], c[met] = 0, 1
		}
	})
}

// stripped checks the removal of a finalizer.
func (f *Follower) stripped(w *world, at int, uid types.UID, ok bool, e *cluster.Event) {
	i := w.find(uid)
	if i < 0 {
		return
	}
	before := w.pods[i]
	action := "strip"
	switch {
	case before.of[at][on]&before.of[at][sees] == 0:
		action = "free" // without a decision: as the controller of orphans
	case before.of[at][overP] == 0 && bytes.Contains(e.Request.Patch, []byte(`"resourceVersion"`)):
		action = "strip-first"
	}
	f.stepOne(w, uid, action, at, func(p *pod) {
		c, o, s := &p.of[at], &p.of[1-at], &p.server
		s[fin], c[pcur], o[pcur] = 0, 0, 0
		if action == "strip-first" {
			s[killed] = 1
		}
		if ok && action != "free" {
			c[sees], c[knows] = 0, 1
			p.acked[at] = true
		}
	})
}

// out stops following a pod.
func (f *Follower) out(w *world, uid types.UID, why string) {
	if i := w.find(uid); i >= 0 && !w.pods[i].out {
		f.Out[why]++
		next := *w.pods[i]
		next.out = true
		w.pods[i] = f.intern(&next)
	}
}

// bear adds a pod.
func (f *Follower) bear(w *world, job *batchv1.Job, stored *corev1.Pod, check bool) {
	if job == nil {
		return
	}
	p := pod{uid: stored.UID, index: -1}
	if indexed(job) {
		p.index = indexOf(stored)
	}
	f.putJob(&p, job)
	for at := range leaders {
		of := w.pods[0].of[at]
		for _, i := range []int{mF, mS, on, cur, over, dec} {
			p.of[at][i] = of[i]
		}
		if p.index >= 0 {
			for _, other := range w.pods {
				if other.index == p.index {
					p.of[at][compl] = other.of[at][compl]
				}
			}
		}
	}
	if w.lowered {
		p.server[scaled] = 1
	}
	at := w.find(stored.UID)
	if at < 0 {
		at = len(w.pods)
		w.pods = append(w.pods, nil)
	}
	w.pods[at] = f.intern(&p)
	owned := controller(stored) == w.uid
	action := "add"
	if owned && hasFinalizer(stored) {
		action = "create"
	} else if owned {
		check = false
	}
	if owned && !f.policy.of(job).selects(stored) {
		p.out, check = true, false
		f.Out["labels"]++
	}
	do := func(p *pod) {
		s := &p.server
		s[born], s[fin] = 1, truth(hasFinalizer(stored))
		s[own], s[had] = truth(owned), truth(owned)
		for at := range leaders {
			p.of[at][pcur] = 0
		}
	}
	if check {
		f.stepOne(w, stored.UID, action, 0, do)
	} else {
		do(&p)
		p.out = p.out || owned // it was there before, so its past is not known
		w.pods[at] = f.intern(&p)
	}
	if cluster.HasEnded(stored) {
		f.stepOne(w, stored.UID, "end", 0, func(p *pod) { p.server[ended] = 1 })
	}
}

// others checks what another client does.
func (f *Follower) others(w *world, e *cluster.Event) {
	switch {
	case e.OldPod != nil || e.Pod != nil:
		if e.OldPod == nil {
			f.bear(w, e.Job, e.Pod, true)
			return
		}
		f.changed(w, e.OldPod, e.Pod)
	case e.OldJob != nil && e.Job == nil:
		if w.pods[0].server[deleting] == 0 {
			f.jobStep(w, "delete-job", func(p *pod) { p.server[deleting] = 1 })
		}
		f.jobStep(w, "remove-job", func(p *pod) { p.server[alive] = 0 })
	case e.OldJob != nil && e.Job.UID == e.OldJob.UID:
		f.editJob(w, e.OldJob, e.Job)
	}
}

func (f *Follower) jobStep(w *world, action string, change func(*pod)) {
	f.step(w, action, 0, [3]int16{}, func(p *pod) {
		change(p)
		for at := range leaders {
			p.of[at][cur] = 0
		}
	})
}

func (f *Follower) editJob(w *world, old, now *batchv1.Job) {
	if old.DeletionTimestamp == nil && now.DeletionTimestamp != nil {
		f.jobStep(w, "delete-job", func(p *pod) { p.server[deleting] = 1 })
		return
	}
	if indexed(now) && *now.Spec.Completions < *old.Spec.Completions && !w.lowered {
		w.lowered = true
		f.Out["growing"]++
	}
	if indexed(now) {
		for i := *old.Spec.Completions; i < *now.Spec.Completions; i++ {
			if !slices.ContainsFunc(w.pods, func(p *pod) bool { return p.uid == "" && p.index == i }) {
				f.addUnborn(w, old, i)
				last := *w.pods[len(w.pods)-1]
				for at := range leaders {
					for _, k := range []int{mF, mS, on, cur, over, dec} {
						last.of[at][k] = w.pods[0].of[at][k]
					}
				}
				last.server[scaled] = w.pods[0].server[scaled]
				w.pods[len(w.pods)-1] = f.intern(&last)
			}
		}
	}
	f.jobStep(w, "edit", func(p *pod) {
		if w.lowered {
			p.server[scaled] = 1
		}
	})
}

// changed checks a change of a pod that leaves its finalizer.
func (f *Follower) changed(w *world, old, now *corev1.Pod) {
	uid := old.UID
	touched := func(do func(*pod)) func(*pod) {
		return func(p *pod) {
			do(p)
			for at := range leaders {
				p.of[at][pcur] = 0
			}
		}
	}
	if now == nil {
		if hasFinalizer(old) {
			f.out(w, uid, "untouched")
		}
		f.stepOne(w, uid, "vanish", 0, touched(func(p *pod) { p.server[own] = 0 }))
		return
	}
	if tampered(old, now) {
		f.out(w, uid, "untouched")
		return
	}
	stays := true
	if !cluster.HasEnded(old) && cluster.HasEnded(now) {
		f.stepOne(w, uid, "end", 0, touched(func(p *pod) { p.server[ended] = 1 }))
		stays = false
	}
	if controller(old) == w.uid && controller(now) != w.uid {
		f.stepOne(w, uid, "orphan", 0, touched(func(p *pod) { p.server[own], p.server[lost] = 0, 1 }))
		stays = false
	}
	if stays {
		f.stepOne(w, uid, "touch", 0, touched(func(*pod) {}))
	}
}
