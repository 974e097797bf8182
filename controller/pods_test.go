package controller

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

// reader reads the pods of a Job from time to time, as a Machine does.
type reader struct {
	job  *batchv1.Job
	last position
	pods map[string]*corev1.Pod
}

// read reads the pods, and reports whether it read only changes.
func (r *reader) read(c *podCache) (fed bool) {
	got := c.read(r.job, r.last)
	if !got.fed {
		r.pods = map[string]*corev1.Pod{}
		for _, pod := range got.all {
			r.pods[pod.Name] = pod
		}
	}
	for name, pod := range got.changed {
		if r.pods[name] = pod; pod == nil {
			delete(r.pods, name)
		}
	}
	r.last = got.next
	return got.fed
}

// server is a plain copy of what the cache should hold.
type server map[types.NamespacedName]*corev1.Pod

func (s server) of(job *batchv1.Job) map[string]*corev1.Pod {
	pods := map[string]*corev1.Pod{}
	for name, pod := range s {
		if key := keyOf(pod); name.Namespace == job.Namespace && (key.controller == "" || key.controller == job.UID) {
			pods[name.Name] = pod
		}
	}
	return pods
}

// After each read a Machine has all pods of the server, however rarely it reads: after creations,
// updates, deletions, changes of the owner and new lists.
func TestPodCache_readersKnowAllPods(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		c, now := newPodCache(tracking.Controller{}, nil), server{}
		var readers []*reader
		for i := range 4 {
			job := newJob(func(job *batchv1.Job) {
				job.Namespace = fmt.Sprint("ns", i%2)
				job.Name, job.UID = fmt.Sprint("job", i), types.UID(fmt.Sprint("uid", i/2)) // in both namespaces
			})
			readers = append(readers, &reader{job: job})
		}
		for version := 1; version < 300; version++ {
			job := readers[random.IntN(len(readers))].job
			pod := newPod(job, fmt.Sprint("pod", random.IntN(6)), strconv.Itoa(version))
			pod.Namespace = job.Namespace
			switch random.IntN(6) {
			case 0:
				Ownerless(pod)
			case 1:
				pod.OwnerReferences[0].Kind = "ReplicaSet"
			}
			name := client.ObjectKeyFromObject(pod)
			var err error
			switch n := random.IntN(100); {
			case n == 0:
				var list []any
				for _, pod := range now {
					list = append(list, pod)
				}
				err = c.Replace(list, pod.ResourceVersion)
			case n < 30:
				delete(now, name)
				err = c.Delete(pod)
			default:
				if delete(now, name); !ofOthers(c.me, pod) {
					now[name] = pod
				}
				err = c.Update(pod)
			}
			NoError(t, err)
			for i, r := range readers {
				if random.IntN(2+5*i) > 0 {
					continue
				}
				if r.read(c); !maps.Equal(r.pods, now.of(r.job)) {
					t.Fatalf("seed %d, version %d: %s knows %v, want %v", seed, version, r.job.Name,
						slices.Sorted(maps.Keys(r.pods)), slices.Sorted(maps.Keys(now.of(r.job))))
				}
			}
		}
	}
}

// After the first read, only changed pods are read. All pods are read again after a new list, and
// after too many changes.
func TestPodCache_fed(t *testing.T) {
	job := newJob()
	c, r := newPodCache(tracking.Controller{}, nil), &reader{job: job}
	add := func(name, version string, change ...func(*corev1.Pod)) {
		t.Helper()
		NoError(t, c.Add(newPod(job, name, version, change...)))
	}
	NoError(t, c.Replace([]any{newPod(job, "a", "1"), newPod(job, "b", "2")}, "3"))
	want := func(what string, fed bool, names ...string) {
		t.Helper()
		got := r.read(c)
		Same(t, what+": reads only the changes", got, fed)
		slices.Sort(names)
		Same(t, what, slices.Sorted(maps.Keys(r.pods)), names)
	}
	want("the first time", false, "a", "b")
	want("nothing has changed", true, "a", "b")
	add("c", "4")
	want("a new pod", true, "a", "b", "c")
	add("alone", "5", Ownerless)
	want("a pod without a controller", true, "a", "b", "c", "alone")
	add("alone", "6")
	want("it is adopted", true, "a", "b", "c", "alone")
	for i := range 2000 {
		add("a", strconv.Itoa(7+i))
	}
	want("too many changes", false, "a", "b", "c", "alone")
	want("nothing has changed since", true, "a", "b", "c", "alone")
	for i := range 2000 {
		add("other", strconv.Itoa(3000+i), Ownerless)
	}
	want("too many changes of pods without a controller", false, "a", "b", "c", "alone", "other")
	if logged := len(c.groups[groupKey{"default", job.UID}].log); logged > 1100 {
		t.Errorf("%d changes are kept, want at most 1100", logged)
	}
	NoError(t, c.Replace([]any{newPod(job, "a", "6000")}, "6000"))
	want("a new list", false, "a")
	r.last.job = "other"
	want("of another Job", false, "a")
}

// The log of changes is trimmed while its readers stand at all of its positions. Each of them gets
// every later deletion, or reads all pods. A Machine that missed one would count the pod as active
// and wait for it forever.
func TestPodCache_noReaderMissesADeletion(t *testing.T) {
	const count = 1200
	for name, change := range map[string]func(*corev1.Pod){"of the Job": func(*corev1.Pod) {}, "without a controller": Ownerless} {
		job := newJob()
		listed := []any{newPod(job, "stays", "1")} // the group of a Job without pods is deleted, with its log
		for i := range count {
			listed = append(listed, newPod(job, fmt.Sprint("pod", i), "1", change))
		}
		c := newPodCache(tracking.Controller{}, nil)
		NoError(t, c.Replace(listed, "2"))
		positions := []position{c.read(job, position{}).next}
		for _, pod := range listed[1:] {
			NoError(t, c.Delete(pod))
			positions = append(positions, c.read(job, position{}).next)
		}
		fed := 0
		for before, last := range positions {
			got := c.read(job, last)
			if !got.fed {
				continue
			}
			fed++
			for i := before; i < count; i++ {
				pod := fmt.Sprint("pod", i)
				if now, told := got.changed[pod]; !told || now != nil {
					t.Fatalf("pods %s: after %d deletions a reader is not told that %s was deleted", name, before, pod)
				}
			}
		}
		if fed == 0 || fed == len(positions) {
			t.Errorf("pods %s: %d of %d readers were given only the changes, want some and not all", name, fed, len(positions))
		}
	}
}

// A handler gets the pods that exist when it is added, and then each change, in order.
func TestPodCache_handlers(t *testing.T) {
	job := newJob()
	c := newPodCache(tracking.Controller{}, nil)
	var got []string
	record := func(before, after *corev1.Pod, initial bool) {
		text := ""
		for _, pod := range []*corev1.Pod{before, after} {
			if pod == nil {
				text += "- "
			} else {
				text += pod.Name + "@" + pod.ResourceVersion + " "
			}
		}
		got = append(got, text+fmt.Sprint(initial))
	}
	c.handle(record)
	replaced := func(pod *corev1.Pod) { pod.OwnerReferences[0].Kind = "ReplicaSet" }
	for _, err := range []error{
		c.Replace([]any{newPod(job, "a", "1"), newPod(job, "other", "1", replaced)}, "2"),
		c.Add(newPod(job, "b", "3")),
		c.Update(newPod(job, "a", "4")),
		c.Update(newPod(job, "a", "5", replaced)),
		c.Update(newPod(job, "a", "6", replaced)),
		c.Update(newPod(job, "a", "7", Ownerless)),
		c.Delete(newPod(job, "a", "8")),
		c.Replace([]any{newPod(job, "b", "3")}, "9"),
		c.Replace([]any{newPod(job, "c", "10")}, "11"),
		c.Update(newPod(job, "other", "12", replaced)),
	} {
		NoError(t, err)
	}
	c.handle(record)
	Same(t, "calls of the handlers", got, []string{
		"- a@1 true", "- b@3 false", "a@1 a@4 false", "a@4 - false", "- a@7 false", "a@7 - false",
		"b@3 - false", "- c@10 false", "- c@10 true",
	})
	Same(t, "the version", c.version, "12")
}

// BenchmarkReconcile syncs a Job after one of its pods has changed. It reads only that pod, or all.
func BenchmarkReconcile(b *testing.B) {
	for _, count := range []int32{1000, 100_000} {
		for _, fed := range []bool{true, false} {
			b.Run(fmt.Sprintf("pods=%d/fed=%t", count, fed), func(b *testing.B) {
				job := newJob(started, func(job *batchv1.Job) {
					job.Spec.Completions, job.Spec.Parallelism = &count, &count
					job.Status.Active, job.Status.Ready, job.Status.Terminating = count, new(int32), new(int32)
					job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
				})
				bench := newFixture(b, job)
				list := make([]any, count)
				for i := range list {
					list[i] = newPod(job, fmt.Sprint("pod", i), "5")
				}
				NoError(b, bench.store.pods.Replace(list, "6"))
				bench.show(b, job)
				sync := func() { Must(bench.Reconcile(b.Context(), theJob)) }
				sync()
				for b.Loop() {
					bench.show(b, newPod(job, "pod1", "7"))
					if !fed {
						m, _ := bench.memories.Load(theJob)
						m.(*memory).read = position{}
					}
					sync()
				}
				if wrote := bench.writes(); len(wrote) > 0 {
					b.Fatalf("wrote %q, want nothing", wrote)
				}
			})
		}
	}
}

// A new version of a pod shares the metadata that has not changed, and nothing with a pod of another UID.
func TestApply_sharesMetadata(t *testing.T) {
	c := newPodCache(newFixture(t).me, nil)
	show := func(pod *corev1.Pod) *corev1.Pod {
		NoError(t, c.Update(pod))
		return c.pods[client.ObjectKeyFromObject(pod)]
	}
	pod := newPod(newJob(), "pod", "5", func(pod *corev1.Pod) {
		pod.Labels, pod.Annotations = map[string]string{"l": "1"}, map[string]string{"a": "1"}
	})
	next, again := pod.DeepCopy(), pod.DeepCopy()
	next.ResourceVersion, next.Annotations = "6", map[string]string{"a": "2"}
	again.UID, again.Labels["l"] = "another", "2"
	want := next.DeepCopy()
	first := show(pod)
	second := show(next)
	Same(t, "the next version", second, want)
	second.Labels["l"] = "shared"
	if first.Labels["l"] != "shared" || &first.OwnerReferences[0] != &second.OwnerReferences[0] || first.Annotations["a"] != "1" {
		t.Errorf("the first version is %+v, the next %+v: want the same labels and owners, and other annotations",
			first.ObjectMeta, second.ObjectMeta)
	}
	if third := show(again); third.UID != "another" || third.Labels["l"] != "2" {
		t.Errorf("a pod made again is %+v", third.ObjectMeta)
	}
}
