package validation

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/validation/defaulting"
)

// A testCase begins with its name in a comment. Its input, in YAML, changes a valid Job: null removes a field. Each error
// follows a !. Another release than 1.37 precedes it if that has other errors; without an error it has none. An empty line
// ends the case.
type testCase struct {
	name            string
	input, old, new map[string]any
	want            map[string][]string // the errors, by what precedes the !
}

var expected = regexp.MustCompile(`(?m)^([\w.]*)!(?: (.*))?\n?`)

// eachCase runs a test with each case of the files of a folder.
func eachCase(t *testing.T, folder string, test func(*testing.T, testCase)) {
	t.Helper()
	files := Must(filepath.Glob("testdata/" + folder + "/*.txt"))
	if len(files) == 0 {
		t.Fatalf("no files in %s", folder)
	}
	for _, file := range files {
		for block := range strings.SplitSeq(string(Must(os.ReadFile(file))), "\n\n") {
			name, text, _ := strings.Cut(strings.TrimPrefix(block, "# "), "\n")
			c := testCase{name: name, want: map[string][]string{"": nil}}
			for _, line := range expected.FindAllStringSubmatch(text, -1) {
				errs := c.want[line[1]]
				if line[2] != "" {
					errs = append(errs, line[2])
				}
				c.want[line[1]] = errs
			}
			if err := yaml.Unmarshal(expected.ReplaceAll([]byte(text), nil), &c.input); err != nil {
				t.Fatalf("%s: %s: %v", file, name, err)
			}
			if c.input == nil { // a comment about several cases
				continue
			}
			c.old, _ = c.input["old"].(map[string]any)
			c.new, _ = c.input["new"].(map[string]any)
			t.Run(name, func(t *testing.T) {
				test(t, c)
				if t.Failed() {
					t.Log("in ", file, "\n", block)
				}
			})
		}
	}
}

// changed returns a Job with a merge patch.
func changed(t *testing.T, job *batchv1.Job, patch map[string]any) *batchv1.Job {
	t.Helper()
	fields := Merged(Must(runtime.DefaultUnstructuredConverter.ToUnstructured(job)), patch).(map[string]any)
	var out batchv1.Job
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fields, &out, true); err != nil {
		t.Fatal(err)
	}
	return &out
}

var releases = map[string][]Option{"": nil, "1.36": {Release(36)}, "1.38": {Release(38)}}

// job returns a new Job. The changes in written precede the defaults.
func (c testCase) job(t *testing.T) *batchv1.Job {
	patch, _ := c.input["written"].(map[string]any)
	delete(c.input, "written")
	return changed(t, defaulting.Prepared(changed(t, written(), patch)), c.input)
}

// TestCreate validates the new Jobs of testdata/create.
func TestCreate(t *testing.T) {
	eachCase(t, "create", func(t *testing.T, c testCase) {
		job := c.job(t)
		for release, want := range c.want {
			wantErrors(t, Create(job, releases[release]...), want...)
		}
		if len(c.want[""]) == 0 { // an accepted Job can be written again unchanged
			job.ResourceVersion = "1"
			wantErrors(t, Update(job, job))
		}
	})
}

// TestUpdate validates the updates of testdata/update: old changes the stored Job, and new is what the update changes.
func TestUpdate(t *testing.T) {
	eachCase(t, "update", func(t *testing.T, c testCase) {
		old := changed(t, prepared(versioned), c.old)
		job := changed(t, old, c.new)
		wasJob, wasOld := job.DeepCopy(), old.DeepCopy()
		if _, differs := c.want["1.36"]; !differs {
			c.want["1.36"] = c.want[""]
		}
		for release, want := range c.want {
			wantErrors(t, Update(job, old, releases[release]...), want...)
		}
		Same(t, "the new Job", job, wasJob)
		Same(t, "the old Job", old, wasOld)
	})
}

func versioned(job *batchv1.Job) { job.ResourceVersion = "1" }
