package adopters

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
)

var inputs = flag.Int("inputs", 100_000, "number of random Jobs of each kind")

// Function is a function of another project, and its replacement.
type Function struct {
	// Name is the name in docs/replace.md.
	Name         string
	Theirs, Ours func(*batchv1.Job) string
	// Rare lists Jobs of classes that few random Jobs belong to.
	Rare []*batchv1.Job
	// Applies says which Jobs the function is called for; nil for all.
	Applies func(*batchv1.Job) bool
	// Classes lists the kinds of Jobs for which the two differ, most specific first. The first that
	// applies explains a difference.
	Classes []Class
	// Lives says that the function is compared only on Jobs that a controller runs, because it
	// depends on several fields that contradict each other in drawn Jobs.
	Lives bool
}

// Class is a kind of Jobs for which a function and its replacement differ.
type Class struct {
	// Name is the name in docs/replace.md.
	Name  string
	Holds func(*batchv1.Job) bool
}

// Contradictory selects Jobs with conditions for both ends. The API server rejects them. The others
// read the condition that comes first; jobfate reads them in a fixed order.
var Contradictory = Class{"contradictory conditions", func(job *batchv1.Job) bool {
	return podtest.IsTrue(job, batchv1.JobFailed, batchv1.JobFailureTarget) &&
		podtest.IsTrue(job, batchv1.JobComplete, batchv1.JobSuccessCriteriaMet)
}}

// Ended returns Complete or Failed, or the empty text for a Job that has not ended.
func Ended(job *batchv1.Job) string {
	if c := jobstatus.Finished(job); c != nil {
		return string(c.Type)
	}
	return ""
}

// Compare checks that the functions return the same, except on the Jobs of their classes, and that docs/replace.md
// has a row for each class. document is the path to it.
func Compare(t *testing.T, document string, functions []Function) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var lived []*batchv1.Job
	for seed := 0; len(lived) < *inputs; seed++ {
		lived = append(lived, Lives().Example(seed)...)
	}
	drawn := make([]*batchv1.Job, *inputs)
	for seed := range drawn {
		drawn[seed] = anyJobs.Example(seed)
	}
	for _, f := range functions {
		t.Run(f.Name, func(t *testing.T) {
			jobs := slices.Concat(lived, f.Rare)
			if !f.Lives {
				jobs = slices.Concat(drawn, jobs)
			}
			counts := f.compare(t, jobs)
			t.Logf("%d Jobs, different on %v", len(jobs), counts)
			for _, c := range f.Classes {
				if counts[c.Name] == 0 {
					t.Errorf("no Job of the class %q is read differently", c.Name)
				}
				_, row, _ := strings.Cut(string(text), "\n| "+c.Name+" | ")
				row, _, _ = strings.Cut(row, " | ")
				if !strings.Contains(row, "`"+f.Name+"`") {
					t.Errorf("%s: the row of the class %q is about %q", document, c.Name, row)
				}
			}
		})
	}
}

// compare returns on how many Jobs of each class the functions differ.
func (f *Function) compare(t *testing.T, jobs []*batchv1.Job) map[string]int {
	counts, errors := map[string]int{}, 0
	for _, job := range jobs {
		if f.Applies != nil && !f.Applies(job) {
			continue
		}
		theirs, ours := f.Theirs(job), f.Ours(job)
		if theirs == ours {
			continue
		}
		if i := slices.IndexFunc(f.Classes, func(c Class) bool { return c.Holds(job) }); i >= 0 {
			counts[f.Classes[i].Name]++
		} else if errors++; errors <= 10 {
			t.Errorf("theirs %q, jobfate %q for %s", theirs, ours, short(job))
		}
	}
	if errors > 0 {
		t.Errorf("%d Jobs are read differently without a reason", errors)
	}
	return counts
}

// short returns the fields of a Job that the functions read.
func short(job *batchv1.Job) string {
	spec := job.Spec.DeepCopy()
	spec.Selector, spec.Template.Labels = nil, nil
	spec.Template.Spec = corev1.PodSpec{RestartPolicy: spec.Template.Spec.RestartPolicy}
	text, err := json.Marshal(map[string]any{"status": job.Status, "spec": spec})
	if err != nil {
		return err.Error()
	}
	return string(text)
}
