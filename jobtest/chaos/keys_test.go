package chaos

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/cluster"
	"github.com/jobfate/jobfate/internal/inside"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/referee"
	"github.com/jobfate/jobfate/tracking"
)

// ownKeys holds the keys of a controller for a custom kind.
var ownKeys = tracking.Keys{
	Finalizer:           "example.com/counted",
	Index:               "example.com/part",
	IndexVariable:       "PART",
	FailureCount:        "example.com/part-failures",
	IgnoredFailureCount: "example.com/part-ignored-failures",
	ControllerUID:       "example.com/suite-uid",
	JobName:             "example.com/suite",
}

// With custom keys a controller behaves as with those of Kubernetes. In random schedules
// with all faults, two Machines send the same requests except for the names.
func TestOwnKeys(t *testing.T) {
	for seed := range uint64(schedules() / 25) {
		var differs string
		r := Run(Config{Seed: seed, Mode: Mode(seed % 2), Controller: func() cluster.Controller {
			return &renamed{own: jobfate.NewMachine(jobfate.Keys(ownKeys)), plain: jobfate.NewMachine(), differs: &differs}
		}})
		if r.Violation != nil {
			t.Fatal(r.Story)
		}
		if differs != "" {
			t.Fatalf("seed %d: with the keys of Kubernetes (-) and custom keys (+):\n%s", seed, differs)
		}
	}
}

// The referee judges a controller with custom keys by these keys: it reports no violation of a
// correct one, and finds bugs.
func TestOwnKeys_judged(t *testing.T) {
	caller := func() *cluster.Caller { return jobtest.NewCaller(jobfate.Keys(ownKeys)) }
	first := func(n int, c func() cluster.Controller) Report {
		return firstOf(n, func(seed uint64) Config {
			return Config{Seed: seed, Mode: Mode(seed % 2), Rules: referee.Rules{Keys: ownKeys}, Controller: c}
		})
	}
	if r := first(schedules()/10, func() cluster.Controller { return caller() }); r.Violation != nil {
		t.Error(r.Story)
	}
	for _, bug := range []struct {
		name, property string
		controller     func() cluster.Controller
	}{
		{"the finalizer is removed before the status is stored", "S2", func() cluster.Controller {
			c := caller()
			inside.Amend(c.Machine, func(_ jobfate.Snapshot, d *jobfate.Decision) {
				if d.Status != nil {
					d.Status.UncountedTerminatedPods = nil
				}
			})
			return c
		}},
		{"finalizers stay after the end", "L2 L3", func() cluster.Controller {
			c := caller()
			inside.Amend(c.Machine, func(s jobfate.Snapshot, d *jobfate.Decision) {
				if s.Job.DeletionTimestamp != nil {
					d.Strip = nil
				}
			})
			return c
		}},
		{"the failure count of an index starts again", "S13", func() cluster.Controller {
			return &wrong{Caller: caller(), ask: func(q *cluster.Request) bool {
				if q.Verb == cluster.Create && q.Pod.Annotations[ownKeys.FailureCount] != "" {
					q.Pod = q.Pod.DeepCopy()
					q.Pod.Annotations[ownKeys.FailureCount] = "0"
				}
				return true
			}}
		}},
	} {
		r := first(400, bug.controller)
		if r.Violation == nil || !strings.Contains(bug.property, r.Violation.Property) {
			t.Errorf("%s: got %v, want a violation of %s", bug.name, r.Violation, bug.property)
		}
	}
}

var (
	toOwn = strings.NewReplacer(
		batchv1.JobTrackingFinalizer, ownKeys.Finalizer,
		batchv1.JobCompletionIndexAnnotation, ownKeys.Index,
		"JOB_COMPLETION_INDEX", ownKeys.IndexVariable,
		batchv1.JobIndexFailureCountAnnotation, ownKeys.FailureCount,
		batchv1.JobIndexIgnoredFailureCountAnnotation, ownKeys.IgnoredFailureCount,
		batchv1.ControllerUidLabel, ownKeys.ControllerUID,
		batchv1.JobNameLabel, ownKeys.JobName,
	)
	toPlain = strings.NewReplacer(
		ownKeys.Finalizer, batchv1.JobTrackingFinalizer,
		ownKeys.FailureCount, batchv1.JobIndexFailureCountAnnotation,
		ownKeys.IgnoredFailureCount, batchv1.JobIndexIgnoredFailureCountAnnotation,
		ownKeys.Index, batchv1.JobCompletionIndexAnnotation,
		`"`+ownKeys.IndexVariable+`"`, `"JOB_COMPLETION_INDEX"`,
		ownKeys.ControllerUID, batchv1.ControllerUidLabel,
		ownKeys.JobName, batchv1.JobNameLabel,
	)
)

// rename returns a copy of an object with other keys.
func rename[T any](object *T, names *strings.Replacer) *T {
	if object == nil {
		return nil
	}
	text, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	renamed := new(T)
	if err := json.Unmarshal([]byte(names.Replace(string(text))), renamed); err != nil {
		panic(err)
	}
	return renamed
}

// renamed is a controller with two Machines. The Machine with the keys of Kubernetes acts.
// The one with custom keys gets a copy of its input in which the keys are replaced.
type renamed struct {
	own, plain *jobfate.Machine
	differs    *string
}

func (r *renamed) Sync(client *cluster.Client) (time.Duration, error) {
	v := jobfate.View{Job: client.Job, Pods: client.Pods, Now: client.Now,
		JobsVersion: client.JobsVersion, PodsVersion: client.PodsVersion, Barrier: client.Barrier}
	shown := v
	shown.Job, shown.Pods = rename(v.Job, toOwn), nil
	for _, pod := range v.Pods {
		shown.Pods = append(shown.Pods, rename(pod, toOwn))
	}
	var jobs, jobsShown []*batchv1.Job
	if v.Job != nil {
		jobs, jobsShown = append(jobs, v.Job), append(jobsShown, shown.Job)
	}
	plain := jobfate.OrphansIn(v.Pods, jobs)
	own := jobfate.OrphansIn(shown.Pods, jobsShown, jobfate.Keys(ownKeys))
	r.compare("orphans", len(plain), len(own))
	for i := range min(len(plain), len(own)) {
		if !r.drive(client, plain[i], own[i]) {
			return 0, nil
		}
		if err := plain[i].Result().Err; err != nil {
			return 0, err
		}
	}
	if err := errors.Join(r.plain.Begin(v), r.own.Begin(shown)); err != nil {
		return 0, err
	}
	if !r.drive(client, r.plain, r.own) {
		r.plain.Abandon()
		r.own.Abandon()
		return 0, nil
	}
	is, ought := r.own.Result(), r.plain.Result()
	r.compare("result", resultText(ought), resultText(is))
	return ought.Requeue, ought.Err
}

// resultText returns the fields of a result except its Decision.
func resultText(r jobfate.Result) string {
	return fmt.Sprint(r.Requeue, r.Err, r.Gone, r.Events, r.Metrics)
}

// drive sends the requests of the first Machine, and passes the answers to both. It reports
// whether the sync continues.
func (r *renamed) drive(client *cluster.Client, plain, own *jobfate.Machine) bool {
	for {
		ought, is := plain.Next(), own.Next()
		if !r.compare("requests", requestsOf(ought), requestsOf(is)) || len(ought) == 0 {
			return len(ought) == 0
		}
		for i := range ought {
			object, err := client.Do(ought[i])
			switch {
			case errors.Is(err, cluster.ErrGivenUp):
				return false
			case errors.Is(err, cluster.ErrNoAnswer):
				continue
			}
			_ = plain.Answer(ought[i], object, err) // the request is known
			_ = own.Answer(is[i], renameAny(object), err)
		}
	}
}

func requestsOf(batch []jobfate.Request) (all []jobfate.Request) {
	for _, r := range batch {
		r.Pod, r.Patch = rename(r.Pod, toPlain), []byte(toPlain.Replace(string(r.Patch)))
		all = append(all, r)
	}
	return all
}

func renameAny(object runtime.Object) runtime.Object {
	switch o := object.(type) {
	case *batchv1.Job:
		return rename(o, toOwn)
	case *corev1.Pod:
		return rename(o, toOwn)
	case *corev1.PodList:
		return rename(o, toOwn)
	}
	return object
}

func (r *renamed) compare(what string, ought, is any) bool {
	diff := cmp.Diff(ought, is)
	if diff != "" && *r.differs == "" {
		*r.differs = what + ":\n" + diff
	}
	return diff == ""
}
