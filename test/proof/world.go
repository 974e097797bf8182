// Package proof proves that the Machine counts each pod exactly once, for any number of pods and
// controllers, and checks that the code takes the steps of the proof.
//
// model.sexp is the model: variables, actions, an invariant and properties. [Model] reads it and asks z3
// whether each action keeps the invariant. A [Follower] evaluates the same actions on the events of a
// search or a schedule. docs/proof.md explains both.
package proof

import (
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
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
	condemned
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
	interim
	sees
	adopts
	pcur
	overP
	finP
	good
	atIndex
	strays
	counts
	verdict
	ofController
)

// order lists the names of these variables in the model.
var order = struct{ server, controller []string }{
	[]string{"alive", "deleting", "ft", "scm", "done", "inF", "inS", "lr", "fp", "fr", "sp", "sr", "comp", "fail",
		"scaled", "born", "own", "had", "lost", "fin", "ended", "killed", "condemned", "n"},
	[]string{"knows", "met", "mF", "mS", "mP", "on", "cur", "listing", "compl", "over", "interim", "sees", "adopts",
		"pcur", "over-p", "fin-p", "good", "at", "strays", "counts", "verdict"},
}

// leaders is how many processes there may be at a time.
const leaders = 2

// pod is the state of the model for one pod and one index. A pod whose index annotation changes has a state for
// each index. A pod without a UID was not created yet: it stands for the index of no pod. Two states are equal if
// the values are.
type pod struct {
	uid    types.UID
	index  int32
	server [ofServer]int16
	of     [leaders][ofController]int16
	// acked says that a process got the answer to the removal of the finalizer.
	acked [leaders]bool
	// out is the assumption that this pod breaks, if any. It is then not followed further.
	out string
}

// world is the state of the model for all pods and processes. Worlds are immutable.
type world struct {
	uid  types.UID // of the Job
	pods []*pod
	by   [leaders]process
	// lowered says that completions were lowered.
	indexed, lowered bool
}

// process holds what a process decides on.
type process struct {
	id    int       // 0: none
	now   time.Time // when its sync began
	view  *cluster.View
	job   *batchv1.Job // nil until it has read or used one in this sync
	known string       // the newest version of the Job that it has read or stored
	sent  bool         // it has sent a request in this sync
	waits bool         // the Job of the view is older than known
}

// slot returns the place of a process.
func (w *world) slot(id int) int {
	return slices.IndexFunc(w.by[:], func(p process) bool { return p.id == id })
}

func (w *world) find(uid types.UID) int {
	return slices.IndexFunc(w.pods, func(p *pod) bool { return p.uid == uid && uid != "" })
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

// isLast reports whether a Job is over, in the sense of the model.
func isLast(job *batchv1.Job) bool {
	return job.DeletionTimestamp != nil ||
		isTrue(job, batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuccessCriteriaMet)
}

func lists(job *batchv1.Job) (failed, succeeded []types.UID) {
	if u := job.Status.UncountedTerminatedPods; u != nil {
		return u.Failed, u.Succeeded
	}
	return nil, nil
}

// putJob copies a Job into the state of a pod. The parts of the pod in the counters stay.
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

// restart empties the memory of a process.
func (p *pod) restart(at int) {
	c := &p.of[at]
	c[knows], c[met], c[mF], c[mS], c[mP], c[on], c[cur] = 0, 0, 0, 0, 0, 0, 0
	p.acked[at] = false
}
