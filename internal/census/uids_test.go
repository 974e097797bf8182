package census_test

import (
	"fmt"
	"math/rand"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/internal/census"
)

func withUID(uid string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}}
}

// slowFirstRepeated remembers every UID.
func slowFirstRepeated(pods []*corev1.Pod) int {
	seen := map[types.UID]bool{}
	for i, pod := range pods {
		if pod == nil {
			continue
		}
		if seen[pod.UID] {
			return i
		}
		seen[pod.UID] = true
	}
	return -1
}

func TestRandom_firstRepeated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var pods []*corev1.Pod
		for _, n := range rapid.SliceOfN(rapid.IntRange(-1, 200), 0, 40).Draw(t, "pods") {
			if n < 0 {
				pods = append(pods, nil)
				continue
			}
			pods = append(pods, withUID(fmt.Sprint(n)))
		}
		same(t, "FirstRepeated", census.FirstRepeated(pods), slowFirstRepeated(pods))
	})
}

func TestFirstRepeated_many(t *testing.T) {
	for _, format := range []string{"%d", "%08x-0000-4000-8000-000000000000", "00000000-0000-4000-8000-%012x"} {
		var pods []*corev1.Pod
		for i := range 20_000 {
			pods = append(pods, withUID(fmt.Sprintf(format, i)))
		}
		same(t, "without a repetition", census.FirstRepeated(pods), -1)
		pods = append(pods, withUID(fmt.Sprintf(format, 0)), withUID(fmt.Sprintf(format, 1)))
		same(t, "with two", census.FirstRepeated(pods), 20_000)
	}
}

// Only equal UIDs are a repetition, also if UIDs differ in a few characters or in their
// length alone.
func TestFirstRepeated_similarUIDs(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, name := range []func(i int) string{
		strconv.Itoa,
		func(i int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", i, i) },
		func(i int) string { return fmt.Sprintf("job-name-of-some-length-%d-0", i) },
		func(i int) string { return string(make([]byte, i)) + "x" }, // differ in length alone
	} {
		const n = 3000
		pods := make([]*corev1.Pod, n)
		for i := range pods {
			pods[i] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(name(i))}}
		}
		same(t, "all different", census.FirstRepeated(pods), -1)
		at := 1 + r.Intn(n-1)
		pods[at] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: pods[r.Intn(at)].UID}}
		same(t, "one repeated", census.FirstRepeated(pods), at)
	}
}
