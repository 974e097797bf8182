package chaos

import (
	"os"
	"strings"
	"testing"
)

// elsewhere lists the bugs of other controllers that no schedule can find, because they
// concern what a function reads or returns. Each has a test in another file. All other such
// bugs are in bugs.
var elsewhere = []struct{ lesson, file, test string }{
	{"k121147, k122235, k121011: panics on what is not defaulted", "../decisions/input_test.go", "TestInput_defaults"},
	{"k118085, k118420: completedIndexes outgrows etcd", "../../test/stories/limits_test.go", "TestLimits_sizeOfTheIndexFields"},
	{"seen: a metric would have to fall", "../../decide/status_test.go", "TestMetrics"},
	{"seen: the parser reads intervals that are none", "../../indexset/parse_test.go", "TestLessons"},
	{"seen: the lowest pending indexes hold back others; the same by default", "../../test/stories/testdata/lessons.txt", "why lowest-pending-first"},
	{"seen: activeDeadlineSeconds overflows", "../../test/stories/testdata/lessons.txt", "activeDeadlineSeconds: 9223372036854775807"},
	{"annotations at MaxInt32, negative, not a number", "../../backoff/lessons_test.go", "TestEditedAnnotations"},
	{"k54870, k67859, k95438: OnFailure sums restarts, off by one", "../../backoff/lessons_test.go", "TestOnFailureSumsRestarts_k54870_k67859_k95438"},
	{"k115688: a failed pod whose containers exited 0", "../../failurepolicy/match_test.go", "TestFailedPodWhoseContainersExited0_k115688"},
	{"precedence of ends", "../../internal/lifecycle/ends_test.go", "TestPrecedenceOfEnds_golden"},
	{"k122972, enhancements#4479, jobset#1027: which rule failed it", "../decisions/options_test.go", "TestReasonOfTheCondition"},
	{"jobset#1091, armada#4713: other matchers", "../../failurepolicy/matcher_test.go", "TestMatchers"},
	{"k94012, k114651, k88718, enhancements#3922: other delays", "../../decide/requeue_test.go", "TestRequeue_isTheSoonest"},
	{"k109131: retry chosen indexes", "../../jobstatus/example_test.go", "ExampleIndexes"},
	{"k90124, k108188: why is there no pod", "../../test/stories/testdata/explain.txt", "kubernetes#90124 and #108188"},
	{"jobset#928: decided versus terminal", "../../jobstatus/lessons_test.go", "TestLesson_jobset928_decidedIsNotTerminal"},
	{"kueue#13163, #12670: quota until pods are gone", "../../jobstatus/lessons_test.go", "TestLesson_kueue_quota"},
	{"quadratic in init containers", "../decisions/cost_test.go", "BenchmarkSlope_sidecarsOfAFailedPod"},
	{"a fixed hash of UIDs", "../decisions/cost_test.go", "BenchmarkSlope_uids"},
	{"a copy of the template for each pod to create", "../decisions/cost_test.go", "creations with the same template"},
	{"one index is explained by explaining all", "../decisions/cost_test.go", "other indexes than one to explain"},
	{"errors about the input have several shapes", "../decisions/input_test.go", "TestInput_errorsHaveOneShape"},
	{"the adoption of a pod that is gone", "../../machine/writes_test.go", "TestAdoption_ofAPodThatIsGone"},
	{"a backoff record with pods beyond the completions", "../../test/stories/rebuild_test.go", "TestBackoffInDoubt_podsBeyondCompletions"},
	{"TooManySucceededPods for a stuck counter", "../../decide/outcome_test.go", "TestSettle_aStuckCounterIsNotTooManySucceededPods"},
	{"karmada#6964, #7844: conditions read wrongly", "../../jobstatus/lessons_test.go", "TestLesson_conditionsInAnyOrder"},
}

// TestLessonsElsewhere checks that the listed tests exist.
func TestLessonsElsewhere(t *testing.T) {
	for _, l := range elsewhere {
		has := l.test
		if strings.HasPrefix(has, "Test") || strings.HasPrefix(has, "Benchmark") {
			has = "func " + has + "("
		}
		source, err := os.ReadFile(l.file)
		if err != nil || !strings.Contains(string(source), has) {
			t.Errorf("%s: %s has no %s (%v)", l.lesson, l.file, l.test, err)
		}
	}
}
