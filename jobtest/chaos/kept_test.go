package chaos

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/bugs"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/effort"
	"github.com/jobfate/jobfate/jobtest/referee"
)

var ending = effort.Flag("ending", "number of random schedules of Jobs that end while pods run", 1_000, 5_000)

// endingJob draws a Job that soon ends while pods run: their restarts exceed a limit, and no pod shows that once they
// are deleted.
func endingJob(seed uint64) *batchv1.Job {
	dice, job := dice(seed, 7), Job(seed)
	n := int32(2 + dice.IntN(3))
	job.Spec = batchv1.JobSpec{Template: job.Spec.Template, Parallelism: &n, Completions: &n}
	job.Spec.BackoffLimit = new(int32(dice.IntN(3)))
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	if dice.Chance(30, "indexed") {
		job.Spec.CompletionMode = new(batchv1.IndexedCompletion)
	}
	if dice.Chance(30, "deadline") {
		job.Spec.ActiveDeadlineSeconds = new(int64(5))
	}
	return job
}

// undisturbed turns off what ends the Jobs of endingJob otherwise, or their pods.
var undisturbed = []string{
	"pod exits 0", "pod exits 1", "pod exits 42", "pod exits 137", "pod exits and does not say when", "node lost", "pod vanishes",
	"pod deleted with grace", "pod deleted by force", "pod orphaned", "suspended", "deadline changed", "Job made again",
	"Job deleted in the background", "Job deleted in the foreground", "Job deleted, its pods orphaned",
}

// whilePending lists what must happen while a verdict is pending.
var whilePending = []string{
	"containers restart", "controller restarts", "second leader", "parallelism changed",
	"409 conflict", "500 internal error", "timeout without effect", "timeout with effect", "answer never comes",
	"answer never comes, with effect", "sync abandoned", "sync abandoned, with effect", "killed before a write",
	"killed after a write", deletionLost,
}

// TestSchedules_verdicts runs Jobs that end while their pods run. It also fails if one of the faults by which a verdict
// may be lost never happened while a verdict was pending.
func TestSchedules_verdicts(t *testing.T) {
	var reach Reach
	for seed := range uint64(ending()) {
		r := Run(Config{Seed: seed, Job: endingJob(seed), Mode: Mode(seed % 2), Without: undisturbed})
		if reach.Add(&r.Reach); r.Violation != nil {
			t.Fatal(r.Story)
		}
	}
	line := fmt.Sprintf("%d schedules, while a verdict was pending:", ending())
	for _, p := range reach.Pairs() {
		if p.Policy != verdictPending || !slices.Contains(whilePending, p.Event) {
			continue
		}
		line += fmt.Sprintf(" %s %d,", p.Event, p.Times)
		if p.Times == 0 {
			t.Errorf("%q never happened while a verdict was pending", p.Event)
		}
	}
	t.Log(strings.TrimSuffix(line, ","))
}

// TestSchedules_oldLeader runs leaders that store the verdict first beside leaders that delete the pods first, as
// releases before did. What these leave behind misleads no other leader: it violates no property. What they
// do violates only S22.
func TestSchedules_oldLeader(t *testing.T) {
	violations := 0
	for seed := range uint64(ending()) {
		job := Job(seed)
		if seed/2%2 == 0 {
			job = endingJob(seed)
		}
		mix := &mixed{first: seed / 4}
		r := Run(Config{Seed: seed, Job: job, Mode: Mode(seed % 2), Controller: mix.leader, Isolate: mix.isolate,
			Except: func(v *referee.Violation) bool {
				if mix.old && v.Property == "S22" {
					violations++
				}
				return mix.old && v.Property == "S22"
			}})
		if r.Violation != nil {
			t.Fatal(r.Story)
		}
	}
	t.Logf("%d schedules, in which old leaders deleted %d pods before the verdict was stored", ending(), violations)
	if violations < ending()/100 {
		t.Errorf("want at least %d", ending()/100)
	}
}

// mixed are leaders, every other one an old one.
type mixed struct {
	first, started uint64
	old            bool // an old leader is acting
}

func (m *mixed) isolate(run func()) {
	m.old, m.started = false, 0
	run()
}

func (m *mixed) leader() cluster.Controller {
	leader, old := cluster.Controller(jobtest.NewCaller()), (m.first+m.started)%2 == 0
	if m.started++; old {
		leader = deletingFirst()
	}
	return bugs.Func(func(client *cluster.Client) (time.Duration, error) {
		defer func(before bool) { m.old = before }(m.old)
		m.old = old
		return leader.Sync(client)
	})
}
