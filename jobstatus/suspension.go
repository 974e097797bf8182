package jobstatus

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Suspension is what a queue has seen of a Job, to know whether the Job controller has observed
// that the Job is suspended. The condition Suspended alone does not say so: a Job that was resumed
// and is suspended again keeps the condition of the suspension before until the next status write.
//
// Call [Suspension.After] with the versions of the Job in their order; some may be missing. A
// suspension is known to be observed once the condition has become True after it, and from then on
// until the Job is resumed. So suspend a Job only when it does not have the condition any more, and pass
// that version too. If another client was faster, or a restart has lost the value, a suspension
// that was observed may not be known to be: resume the Job, or remove the condition from its status,
// and its controller sets it again.
//
// The zero value has seen no version. It recognizes a Job that was not resumed before its last
// suspension by its generation: 1 or, with the condition, 2. The API server raises
// metadata.generation with every change of a spec; some fakes do not. Without a generation (0)
// no suspension is known to be observed.
type Suspension struct {
	uid        types.UID
	generation int64
	observed   bool
	// clear says that if the Job is suspended, and has the condition, in this generation or the next,
	// the condition is not that of an earlier suspension.
	clear bool
}

// After returns what is known after another version of the Job. A version with an earlier generation
// changes nothing.
func (s Suspension) After(job *batchv1.Job) Suspension {
	if job == nil || s.uid == job.UID && job.Generation < s.generation {
		return s
	}
	next := Suspension{uid: job.UID, generation: job.Generation}
	condition := True(job.Status.Conditions, batchv1.JobSuspended) != nil
	follows := job.Generation > 0 && s.uid == job.UID && job.Generation <= s.generation+1
	next.observed = isSuspended(job) && (job.Generation == 1 ||
		condition && (job.Generation == 2 || s.clear && follows))
	next.clear = next.observed || !condition
	return next
}

// Observed reports whether the Job, in the last version, is suspended and the Job controller is known
// to have observed it. The Job then gets no more pods: it uses AtOnce.Least of its Demand, see package decide.
func (s Suspension) Observed() bool { return s.observed }

func isSuspended(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }
