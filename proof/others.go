package proof

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/cluster"
)

// out stops following a pod.
func (f *Follower) out(w *world, uid types.UID, why string) {
	if i := w.find(uid); i >= 0 && !w.pods[i].out {
		f.Out[why]++
		next := *w.pods[i]
		next.out = true
		w.pods[i] = f.intern(&next)
	}
}

// addPod adds a pod.
func (f *Follower) addPod(w *world, job *batchv1.Job, stored *corev1.Pod, check bool) {
	index := int32(-1)
	if w.indexed {
		index = indexOf(stored)
	}
	p := w.unborn(index)
	p.uid = stored.UID
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
	if owned && job != nil && !f.policy.of(job).selects(stored) {
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
		p.out = p.out || owned // it existed before, so its past is not known
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

// others checks what another client does.
func (f *Follower) others(w *world, e *cluster.Event) {
	switch {
	case e.OldPod != nil || e.Pod != nil:
		if e.OldPod == nil {
			f.addPod(w, e.Job, e.Pod, true)
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
