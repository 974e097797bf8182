package proof

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// out stops following a pod.
func (f *Follower) out(w *world, uid types.UID, why string) {
	for i, p := range w.pods {
		if p.uid == uid && p.out == "" {
			f.Out[why]++
			next := *p
			next.out = why
			w.pods[i] = f.intern(&next)
		}
	}
}

// addPod adds a pod.
func (f *Follower) addPod(w *world, stored *corev1.Pod, check bool) {
	index := int32(-1)
	if w.indexed {
		index = f.indexOf(stored)
	}
	p := w.unborn(index)
	p.uid = stored.UID
	at := w.find(stored.UID)
	if at < 0 {
		f.Pods++
		at = len(w.pods)
		w.pods = append(w.pods, nil)
	}
	w.pods[at] = f.intern(&p)
	owned := controller(stored) == w.uid
	action := "add"
	if owned && f.hasFinalizer(stored) {
		action = "create"
	} else if owned {
		check = false
	}
	do := func(p *pod) {
		s := &p.server
		s[born], s[fin] = 1, truth(f.hasFinalizer(stored))
		s[own], s[had] = truth(owned), truth(owned)
		for at := range leaders {
			p.of[at][pcur] = 0
		}
	}
	if check {
		f.stepOne(w, stored.UID, action, 0, do)
	} else {
		do(&p)
		if owned {
			p.out = "its past is not known" // it existed before
		}
		w.pods[at] = f.intern(&p)
	}
	if cluster.HasEnded(stored) {
		f.stepOne(w, stored.UID, "end", 0, func(p *pod) { p.server[ended] = 1 })
	}
}

// unborn returns the state of a pod with an index before its creation.
func (w *world) unborn(index int32) pod {
	for _, p := range w.pods {
		if p.uid == "" && p.index == index {
			return *p
		}
	}
	p := *w.pods[0] // begin puts an unborn pod there
	p.index, p.server[comp], p.server[fail] = index, 0, 0
	for at := range leaders {
		p.of[at][compl] = 0
	}
	return p
}

// addIndex adds the state of a pod for another index: only the index differs.
func (f *Follower) addIndex(w *world, uid types.UID, index int32) {
	from := w.find(uid)
	if from < 0 || slices.ContainsFunc(w.pods, func(p *pod) bool { return p.uid == uid && p.index == index }) {
		return
	}
	next, of := *w.pods[from], w.unborn(index)
	next.index, next.server[comp], next.server[fail] = index, of.server[comp], of.server[fail]
	for k := range leaders {
		next.of[k][atIndex], next.of[k][compl] = 0, of.of[k][compl]
	}
	w.pods = append(w.pods, f.intern(&next))
}

// others checks what another client does.
func (f *Follower) others(w *world, e *cluster.Event) {
	switch {
	case e.OldPod != nil || e.Pod != nil:
		if e.OldPod == nil {
			f.addPod(w, e.Pod, true)
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
					for _, k := range []int{mF, mS, on, cur, over, interim} {
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
		if f.hasFinalizer(old) {
			f.out(w, uid, "untouched")
		}
		f.stepOne(w, uid, "vanish", 0, touched(func(p *pod) { p.server[own] = 0 }))
		return
	}
	if f.hasFinalizer(old) != f.hasFinalizer(now) {
		f.out(w, uid, "untouched")
		return
	}
	if w.indexed && f.indexOf(old) != f.indexOf(now) {
		f.addIndex(w, uid, f.indexOf(now))
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
