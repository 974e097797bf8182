package explain

import (
	"cmp"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobstatus"
)

// The labels and values that Kueue sets on Jobs.
const (
	kueueQueue    = "kueue.x-k8s.io/queue-name" // a label; once an annotation
	kueueWorkload = "kueue.x-k8s.io/prebuilt-workload-name"
	multiKueue    = "kueue.x-k8s.io/multikueue" // in spec.managedBy
)

func (f *facts) failed() finding {
	if jobstatus.OutcomeOf(f.job).Phase != jobstatus.Failed {
		return finding{}
	}
	return f.finished()
}

func (f *facts) finished() finding {
	if jobstatus.Finished(f.job) == nil {
		return finding{}
	}
	return finding{text: textFinished(f.job)}
}

// unmanaged reports whether there is no decision, because another controller manages
// the Job.
func (f *facts) unmanaged() bool { return f.Outcome == nil }

func (f *facts) multiKueue() finding {
	if !f.unmanaged() || f.job.Spec.ManagedBy == nil || *f.job.Spec.ManagedBy != multiKueue {
		return finding{}
	}
	if f.job.Spec.Suspend != nil && *f.job.Spec.Suspend {
		return finding{text: "MultiKueue manages the Job, which is suspended here, and runs it in a worker cluster once it is admitted"}
	}
	return finding{text: "MultiKueue runs the Job in a worker cluster; there are no pods here"}
}

func (f *facts) managedElsewhere() finding {
	if !f.unmanaged() {
		return finding{}
	}
	manager := batchv1.JobControllerName
	if f.job.Spec.ManagedBy != nil {
		manager = *f.job.Spec.ManagedBy
	}
	return finding{text: "the controller " + manager + " manages the Job"}
}

func (f *facts) queuedByKueue() finding {
	if f.reason.Code != JobSuspended {
		return finding{}
	}
	queue := cmp.Or(f.job.Labels[kueueQueue], f.job.Annotations[kueueQueue])
	switch {
	case queue != "":
		return finding{text: "Kueue holds the Job suspended until its queue " + queue + " admits it" + f.alsoDeletes()}
	case f.job.Labels[kueueWorkload] != "":
		return finding{text: "Kueue holds the Job suspended until its workload " + f.job.Labels[kueueWorkload] + " is admitted" + f.alsoDeletes()}
	}
	return finding{}
}

// recreated finds that the pods are controlled by a Job with the same name and another UID,
// and that this Job has none.
func (f *facts) recreated() finding {
	if f.View.Census.Len() > 0 {
		return finding{}
	}
	var old []*corev1.Pod
	for _, pod := range f.View.Census.Pods() {
		if pod.Namespace != f.job.Namespace {
			continue
		}
		for i := range pod.OwnerReferences {
			ref := &pod.OwnerReferences[i]
			if ref.Controller != nil && *ref.Controller && ref.Kind == "Job" && ref.Name == f.job.Name && ref.UID != f.job.UID {
				old = append(old, pod)
			}
		}
	}
	if len(old) == 0 {
		return finding{}
	}
	belong := "belong"
	if len(old) == 1 {
		belong = "belongs"
	}
	return finding{pods: old, text: fmt.Sprintf("%s %s to an earlier Job named %s; this Job was created %s and has no pods",
		pods(len(old)), belong, f.job.Name, f.ago(f.job.CreationTimestamp.Time))}
}

func (f *facts) podsMissing() finding {
	active := f.job.Status.Active
	if active == 0 || f.View.Census.Len() > 0 || f.reason.Code == JobFinished {
		return finding{}
	}
	return finding{text: fmt.Sprintf("the status counts %s as active, but the snapshot has none of the Job's pods", pods(int(active)))}
}
