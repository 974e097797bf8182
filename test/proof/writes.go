package proof

import (
	"bytes"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

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
		c[interim] |= s[ft] | s[scm]
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

// patch checks a patch of a pod.
func (f *Follower) patch(w *world, at int, e *cluster.Event) {
	r := e.Request
	ok := e.Answered && (e.Err == nil || apierrors.IsNotFound(e.Err))
	switch old, now := e.OldPod, e.Pod; {
	case old != nil && now != nil && controller(old) == "" && controller(now) != "":
		f.adopted(w, at, e)
	case old != nil && (now == nil || f.hasFinalizer(old) && !f.hasFinalizer(now)):
		f.stripped(w, at, old.UID, ok, e)
		if old = f.withoutFinalizer(old); now == nil || controller(old) == controller(now) {
			f.changed(w, old, now)
		}
	case old != nil && old != now:
		if ok && !f.hasFinalizer(old) {
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
		p.acked = [leaders]bool{} // a later version has the finalizer again
		if e.Answered && e.Err == nil {
			c[adopts], c[met] = 0, 1
		}
	})
}

// deleted checks a deletion. Of a pod that the process sees as tracked, it is one because the Job ends: before any
// other deletion the process removes the finalizer.
func (f *Follower) deleted(w *world, at int, e *cluster.Event) {
	if i := w.find(e.OldPod.UID); i >= 0 && w.pods[i].of[at][on]&w.pods[i].of[at][sees] != 0 {
		f.stepOne(w, e.OldPod.UID, "condemn", at, func(p *pod) {
			p.server[condemned], p.of[at][pcur], p.of[1-at][pcur] = 1, 0, 0
		})
	}
	f.changed(w, e.OldPod, e.Pod)
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
	case bytes.Contains(e.Request.Patch, []byte("ownerReferences")):
		action = "release"
	case before.of[at][overP]|before.of[at][finP] == 0 && bytes.Contains(e.Request.Patch, []byte(`"resourceVersion"`)):
		action = "strip-first"
	}
	f.stepOne(w, uid, action, at, func(p *pod) {
		c, o, s := &p.of[at], &p.of[1-at], &p.server
		s[fin], c[pcur], o[pcur] = 0, 0, 0
		switch action {
		case "strip-first":
			s[killed] = 1
		case "release":
			s[own], s[lost] = 0, 1
		}
		if ok && action != "free" {
			c[sees], c[knows] = 0, 1
			p.acked[at] = true
		}
	})
}
