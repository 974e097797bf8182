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
	{"k121147, k122235, k121011: panics on what is not defaulted", "../../stories/lessons_test.go", "k121147_k122235_k121011_no_panic"},
	{"k118085, k118420: completedIndexes outgrows etcd", "../../stories/lessons_test.go", "k118085_k118420_size_of_completedIndexes"},
	{"seen: a metric would have to fall", "../../stories/lessons_test.go", "seen_metrics_do_not_fall"},
	{"seen: the parser reads intervals that are none", "../../stories/lessons_test.go", "seen_damaged_intervals"},
	{"seen: the parser reads intervals that are none", "../../indexset/parse_test.go", "TestLessons"},
	{"seen: the lowest pending indexes hold back others; the same by default", "../../stories/testdata/lessons.txt", "why lowest-pending-first"},
	{"seen: activeDeadlineSeconds overflows", "../../stories/testdata/lessons.txt", "activeDeadlineSeconds: 9223372036854775807"},
	{"annotations at MaxInt32, negative, not a number", "../../stories/lessons_test.go", "edited_annotations"},
	{"k54870, k67859, k95438: OnFailure sums restarts, off by one", "../../stories/lessons_test.go", "k54870_k67859_k95438_OnFailure"},
	{"k115688: a failed pod whose containers exited 0", "../../stories/lessons_test.go", "k115688_failed_though_all_containers_exited_0"},
	{"precedence of ends", "../../stories/lessons_test.go", "precedence_of_ends"},
	{"precedence of ends", "../../internal/lifecycle/ends_test.go", "TestPrecedenceOfEnds_golden"},
	{"k122972, enhancements#4479, jobset#1027: which rule failed it", "../../stories/lessons_test.go", "k122972_enhancements4479_jobset1027_which_rule"},
	{"jobset#1091, armada#4713: other matchers", "../../stories/lessons_test.go", "jobset1091_armada4713_matchers"},
	{"k94012, k114651, k88718, enhancements#3922: other delays", "../../stories/lessons_test.go", "k94012_k114651_k88718_enhancements3922_delays"},
	{"k109131: retry chosen indexes", "../../stories/lessons_test.go", "k109131_unfinished_indexes"},
	{"k90124, k108188: why is there no pod", "../../stories/testdata/explain.txt", "kubernetes#90124 and #108188"},
	{"jobset#928: decided versus terminal", "../../stories/lessons_test.go", "jobset928_decided_versus_terminal"},
	{"kueue#13163, #12670: quota until pods are gone", "../../stories/lessons_test.go", "kueue13163_kueue12670_pods_held"},
	{"quadratic in init containers", "../decisions/slope_test.go", "BenchmarkSlope_sidecarsOfAFailedPod"},
	{"a fixed hash of UIDs", "../decisions/slope_test.go", "BenchmarkSlope_uids"},
	{"a copy of the template for each pod to create", "../decisions/slope_test.go", "TestCreations_areMadeWhenNeeded"},
	{"one index is explained by explaining all", "../decisions/alloc_test.go", "TestIndex_allocatesForOne"},
	{"errors about the input have several shapes", "../decisions/input_test.go", "TestInput_errorsHaveOneShape"},
	{"the adoption of a pod that is gone", "../../machine_writes_test.go", "TestAdoption_ofAPodThatIsGone"},
	{"a backoff record with pods beyond the completions", "../../stories/rebuild_test.go", "TestBackoffInDoubt_podsBeyondCompletions"},
	{"TooManySucceededPods for a stuck counter", "../../close_test.go", "TestSettle_aStuckCounterIsNotTooManySucceededPods"},
	{"karmada#6964, #7844: conditions read wrongly", "../../stories/lessons_test.go", "karmada6964_karmada7844_outcome"},
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
