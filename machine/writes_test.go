package machine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/internal/memory"
	. "github.com/jobfate/jobfate/internal/podtest"
)

var errConflict = apierrors.NewConflict(corev1.Resource("pods"), "pod", errors.New("it has changed"))

// Before the first adoption the Job is read live. A Job that is gone or being deleted adopts
// no pods (kubernetes#42639). If the Job has changed, the machine decides again.
func TestAdoption_readsTheJob(t *testing.T) {
	job := Train(1)
	deleting, changed, another := Train(1), Train(1), Train(1)
	deleting.DeletionTimestamp, deleting.ResourceVersion = &metav1.Time{Time: noon}, "12"
	changed.ResourceVersion = "11"
	another.UID = "another"
	for name, test := range map[string]struct {
		live *batchv1.Job
		want []string
	}{
		"unchanged":     {job, []string{"get the Job", "patch pod train-a", "patch the status"}},
		"gone":          {nil, []string{"get the Job"}},
		"another":       {another, []string{"get the Job"}},
		"being deleted": {deleting, []string{"get the Job"}},
		"changed":       {changed, []string{"get the Job", "list the pods", "patch pod train-a", "patch the status"}},
	} {
		t.Run(name, func(t *testing.T) {
			m, s := New(), &server{job: test.live, pods: []*corev1.Pod{PodOf(job, "a", "11", Ownerless)}}
			Same(t, "requests", run(t, m, fresh(job, s.pods...), s.answer), test.want)
			Same(t, "has an error", m.Result().Err != nil, len(test.want) == 1)
			if name == "being deleted" {
				Same(t, "the version of the Job", m.memory.Known, deleting.ResourceVersion)
			}
		})
	}
}

// A Job that must not adopt pods still releases pods, as in Kubernetes.
func TestAdoption_refusedReleasesOthers(t *testing.T) {
	job := Train(1)
	for name, read := range map[string]answers{
		"gone":           func(r Request) (runtime.Object, error) { return nil, notFound(r) },
		"cannot be read": refusal(errTimeout),
	} {
		m, s := New(), &server{job: job}
		odd := PodOf(job, "b", "12", Unlabelled)
		asked := run(t, m, fresh(job, PodOf(job, "a", "11", Ownerless), odd), s.except(GetJob, read))
		Same(t, name, asked, []string{"get the Job", "patch pod train-b"})
		if m.Result().Err == nil || len(m.memory.Stripped) != 1 || (m.memory.Gone == job.UID) != (name == "gone") {
			t.Errorf("%s: error %v, remembers %s; want an error and the release", name, m.Result().Err, m.memory.String())
		}
	}
}

// When an adoption is answered with NotFound, Kubernetes ignores that pod and continues the
// sync. A pod that is gone must not be counted.
func TestAdoption_ofAPodThatIsGone(t *testing.T) {
	job := Train(1)
	m, s := New(), &server{job: job}
	asked := run(t, m, fresh(job, PodOf(job, "a", "11", Ownerless, Succeeded)), s.except(PatchPod, refusal(notFound(Request{}))))
	Same(t, "requests", asked, []string{"get the Job", "patch pod train-a", "create pod train-", "patch the status"})
	st := m.result.Decision.Facts().Status
	Same(t, "active, and listed as succeeded", Pair(st.Active, len(st.UncountedTerminatedPods.Succeeded)), Pair(int32(1), 0))
	Same(t, "pods that the next sync starts from", len(m.cached.List()), 1)
}

// A cache that is older than an adoption is not used, because it shows the pod without an
// owner. A Job that is being deleted adopts no pods. It would treat the pod as counted and
// released, and count it again once the cache shows the adoption.
func TestAdoption_isObserved(t *testing.T) {
	s := &server{job: Train(1)}
	orphan := PodOf(s.job, "a", "11", Ownerless, Succeeded)
	stripFails := s.except(PatchPod, func(r Request) (runtime.Object, error) {
		if strings.Contains(string(r.Patch), "ownerReferences") {
			return s.answer(r)
		}
		return nil, errConflict
	})
	m := New()
	Same(t, "requests", run(t, m, fresh(s.job, orphan), stripFails),
		[]string{"get the Job", "patch pod train-a", "patch the status", "patch pod train-a"})
	s.job = Train(1)
	s.job.DeletionTimestamp = &metav1.Time{Time: noon}
	s.job.ResourceVersion = s.next()
	s.job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{"a"}}
	s.pods = []*corev1.Pod{PodOf(s.job, "a", "2002", Succeeded)}
	Same(t, "requests", run(t, m, fresh(s.job, orphan), stripFails), []string{"get the Job", "list the pods", "patch the status", "patch pod train-a"})
	st := m.result.Decision.Facts().Status
	Same(t, "succeeded, and listed", Pair(st.Succeeded, len(st.UncountedTerminatedPods.Succeeded)), Pair(int32(0), 1))
}

// A pod that is adopted and deleted in the same sync: the patch that removes its finalizer names
// the version that the adoption has stored. A pod that has finished since then has another version,
// and is counted. Without a pod in the answer to the adoption, the removal is refused, and the next
// sync deletes the pod.
func TestAdoption_andDeletion(t *testing.T) {
	finish := func(stored *corev1.Pod) { stored.ResourceVersion = "2500" }
	for name, test := range map[string]struct {
		after    func(stored *corev1.Pod) // happens after the adoption
		noObject bool
		want     []string
		conflict bool
	}{
		"at once":         {want: []string{"get the Job", "patch pod train-a", "patch pod train-a", "delete pod train-a", "patch the status"}},
		"it has finished": {after: finish, conflict: true, want: []string{"get the Job", "patch pod train-a", "patch pod train-a", "patch the status"}},
		"no pod in the answer": {noObject: true, conflict: true,
			want: []string{"get the Job", "patch pod train-a", "patch pod train-a", "patch the status"}},
	} {
		t.Run(name, func(t *testing.T) {
			job := suspended(Train(1))
			m, s := New(), &server{job: job}
			stored := PodOf(job, "a", "11", Ownerless, Released)
			asked := run(t, m, fresh(job, stored.DeepCopy()), s.except(PatchPod, func(r Request) (runtime.Object, error) {
				if !strings.Contains(string(r.Patch), fmt.Sprintf(`"resourceVersion":%q`, stored.ResourceVersion)) {
					return nil, errConflict
				}
				stored.ResourceVersion = s.next()
				answer := stored.DeepCopy()
				if test.after != nil {
					test.after(stored)
				}
				if test.noObject {
					return nil, nil
				}
				return answer, nil
			}))
			Same(t, "requests", asked, test.want)
			if err := m.Result().Err; apierrors.IsConflict(err) != test.conflict || err != nil && !test.conflict {
				t.Errorf("the error is %v, want a conflict: %t", err, test.conflict)
			}
		})
	}
}

// A Machine keeps the pods that it was fed. It changes none of them, whatever it does with them.
func TestFeed_podsStayAsTheyAre(t *testing.T) {
	m, s := New(), &server{job: suspended(Train(2))}
	run(t, m, fresh(s.job), s.answer)
	var given Inputs
	for _, pod := range []*corev1.Pod{PodOf(s.job, "a", "11", Ownerless), PodOf(s.job, "b", "12"), PodOf(s.job, "c", "13", Succeeded),
		PodOf(s.job, "d", "14", Unlabelled)} {
		given.Add(pod)
		m.Feed("", pod)
	}
	for range 2 {
		v := fresh(s.job)
		v.Fed, v.JobsVersion, v.PodsVersion = true, "9000", "9000"
		asked := run(t, m, v, s.answer)
		if changed := given.Changed(); changed != "" || len(asked) == 0 {
			t.Errorf("after %q, %s", asked, changed)
		}
	}
}

// A failed claim ends the sync.
func TestClaim_fails(t *testing.T) {
	job := Train(1)
	for _, relation := range []func(*corev1.Pod){Ownerless, Unlabelled} {
		m, s := New(), &server{job: job}
		asked := run(t, m, fresh(job, PodOf(job, "a", "11", relation)), s.except(PatchPod, refusal(errConflict)))
		if last := asked[len(asked)-1]; last != "patch pod train-a" || !apierrors.IsConflict(m.Result().Err) {
			t.Errorf("requests %v, error %v; want none after the claim, and the conflict", asked, m.Result().Err)
		}
	}
}

// A release that the API server calls invalid counts as done, as in Kubernetes: the pod has lost the owner reference, or
// another pod has its name. An adoption that is invalid fails.
func TestClaim_isInvalid(t *testing.T) {
	job := Train(1)
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "train-b", nil)
	for want, relation := range map[string]func(*corev1.Pod){"patch the status": Unlabelled, "patch pod train-b": Ownerless} {
		m, s := New(), &server{job: job, pods: []*corev1.Pod{PodOf(job, "a", "11", Ownerless), PodOf(job, "b", "12", relation)}}
		asked := run(t, m, fresh(job, s.pods...), s.failing(2, PatchPod, invalid)) // of train-b
		if goesOn := want == "patch the status"; asked[len(asked)-1] != want || goesOn != (m.Result().Err == nil) {
			t.Errorf("requests %v, error %v; want %s as the last request", asked, m.Result().Err, want)
		}
	}
}

// The machine remembers that a released pod has lost its finalizer, because the cache may
// still show it.
func TestClaim_isRemembered(t *testing.T) {
	job := Train(1)
	m, s := New(), &server{job: job}
	asked := run(t, m, fresh(job, PodOf(job, "a", "11", Unlabelled)), s.answer)
	Same(t, "requests", asked, []string{"patch pod train-a", "create pod train-", "patch the status"})
	Same(t, "the stripped pods that the machine remembers", slices.Collect(maps.Keys(m.memory.Stripped)), UIDs("a"))
}

func suspended(job *batchv1.Job) *batchv1.Job {
	job.Spec.Suspend, job.Status.StartTime = new(true), &metav1.Time{Time: noon.Add(-time.Minute)}
	return job
}

// A surplus pod loses its finalizer, and is deleted after that. If either fails, the pod
// counts as not deleted. As in Kubernetes, only deletions have events: not the patches, and
// not pods that were gone already.
func TestDeletions(t *testing.T) {
	for name, test := range map[string]struct {
		patch, remove error
		want          []string
		active        int32
		reason        string
		deleted       int
	}{
		"both succeed":                         {nil, nil, []string{"patch pod train-a", "delete pod train-a", "patch the status"}, 0, "SuccessfulDelete", 1},
		"the pod is gone before it is patched": {notFound(Request{}), nil, []string{"patch pod train-a", "patch the status"}, 0, "", 1},
		"the pod is gone before it is deleted": {nil, notFound(Request{}), []string{"patch pod train-a", "delete pod train-a", "patch the status"}, 0, "", 1},
		"the pod has changed":                  {errConflict, nil, []string{"patch pod train-a", "patch the status"}, 1, "", 0},
		"the deletion is refused":              {nil, errConflict, []string{"patch pod train-a", "delete pod train-a", "patch the status"}, 1, "FailedDelete", 0},
		"the deletion is lost":                 {nil, errTimeout, []string{"patch pod train-a", "delete pod train-a", "patch the status"}, 1, "FailedDelete", 0},
	} {
		t.Run(name, func(t *testing.T) {
			job := suspended(Train(1))
			m, s := New(), &server{job: job}
			asked := run(t, m, fresh(job, PodOf(job, "a", "11")), func(r Request) (runtime.Object, error) {
				switch {
				case r.Verb == PatchPod && test.patch != nil:
					return nil, test.patch
				case r.Verb == DeletePod && test.remove != nil:
					return nil, test.remove
				case r.Verb == DeletePod && *r.Options.Preconditions.UID != "a":
					t.Error("the deletion does not name the UID")
				}
				return s.answer(r)
			})
			Same(t, "requests", asked, test.want)
			r := m.Result()
			Same(t, "active pods", r.Decision.Facts().Status.Active, test.active)
			event := ""
			for _, e := range r.Events {
				if strings.HasSuffix(e.Reason, "Delete") {
					event += e.Reason
				}
			}
			if event != test.reason || (r.Err != nil) != (test.deleted == 0) {
				t.Errorf("events %v, error %v; want %q", r.Events, r.Err, test.reason)
			}
			Same(t, "deletions that the machine remembers", len(m.memory.Deleted), test.deleted)
		})
	}
}

// The Job does not end while a deletion is not observed.
func TestDeletions_inFlight(t *testing.T) {
	job := suspended(Train(1))
	m, s := New(), &server{job: job}
	pod := PodOf(job, "a", "11")
	run(t, m, fresh(job, pod), s.answer)
	job = job.DeepCopy()
	job.ResourceVersion, job.Status = "2100", *m.result.Decision.Facts().Status
	job.Spec.Suspend = nil
	s.job = job
	Same(t, "pods created before the deletion of another is observed", creations(run(t, m, fresh(job, pod), s.answer)), 0)
	job = job.DeepCopy()
	job.ResourceVersion = "2200"
	Same(t, "requests when the pod is gone", run(t, m, fresh(job), s.answer)[:1], []string{"create pod train-"})
	Same(t, "deletions that the machine remembers", len(m.memory.Deleted), 0)
}

// The status is stored before the finalizers are removed, and the counters after. A conflict
// ends the sync.
func TestCounting(t *testing.T) {
	job := Train(1)
	pod := PodOf(job, "a", "11", Succeeded)
	writes := []string{"patch the status", "patch pod train-a", "patch the status"}
	for name, test := range map[string]struct {
		fails int // the number of the write that fails; 0 for none
		want  []string
	}{
		"all writes succeed":          {0, writes},
		"the status has a conflict":   {1, writes[:1]},
		"the finalizer stays":         {2, writes[:2]},
		"the second status conflicts": {3, writes},
	} {
		t.Run(name, func(t *testing.T) {
			m, s := New(), &server{job: job}
			n := 0
			asked := run(t, m, fresh(job, pod), func(r Request) (runtime.Object, error) {
				if n++; n == test.fails {
					return nil, errConflict
				}
				return s.answer(r)
			})
			Same(t, "requests", asked, test.want)
			r := m.Result()
			Same(t, "ended, and without an error", []bool{r.Ended, r.Err == nil}, []bool{test.fails == 0, test.fails == 0})
			if test.fails == 0 {
				Same(t, "the last event", r.Events[len(r.Events)-1].Reason, "Completed")
				if !strings.Contains(s.statuses[1], `"resourceVersion":"2001"`) {
					t.Errorf("the second status does not name the version of the first: %s", s.statuses[1])
				}
			}
		})
	}
}

// A counted pod is not counted again while a stale cache shows it with its finalizer, or
// shows it gone and then with its finalizer again. It is counted again if others have put
// the finalizer back.
func TestStripped_isRemembered(t *testing.T) {
	job := Train(2)
	pod := PodOf(job, "a", "11", Succeeded)
	other := PodOf(job, "b", "12")
	m, s := New(), &server{job: job}
	run(t, m, fresh(job, pod, other), s.answer)
	if len(m.memory.Stripped) != 1 || m.memory.Stripped["a"].Without == "" {
		t.Fatalf("the machine remembers %v, want the version without the finalizer", m.memory.Stripped)
	}
	sync := func(version string, pods ...*corev1.Pod) string {
		s.job = s.job.DeepCopy()
		s.job.ResourceVersion = version
		v := fresh(s.job, pods...)
		v.PodsVersion = "1500" // below every answer
		return strings.Join(run(t, m, v, s.answer), "; ")
	}
	for n, pods := range [][]*corev1.Pod{{pod, other}, {other}, {pod, other}} {
		if asked := sync(fmt.Sprint(5000+100*n), pods...); strings.Contains(asked, "patch pod train-a") {
			t.Errorf("the pod is counted again: %s", asked)
		}
	}
	back := PodOf(job, "a", "3000", Succeeded)
	s.job = s.job.DeepCopy()
	s.job.ResourceVersion = "9000"
	v := fresh(s.job, back, other)
	v.PodsVersion = "3000"
	if asked := strings.Join(run(t, m, v, s.answer), "; "); !strings.Contains(asked, "patch pod train-a") {
		t.Errorf("others have put the finalizer back, but it is not removed: %s", asked)
	}
}

// The status may be stored in another object than the spec.
func TestStatusElsewhere(t *testing.T) {
	job := Train(1)
	m, s := New(), &server{job: job}
	v := fresh(job)
	v.StatusVersion = "77"
	run(t, m, v, s.answer)
	s.expectStatusAt(t, "77")
	Same(t, "idle before the status is observed", m.Idle(), false)
	v = fresh(job, PodOf(job, "new", "2002"))
	v.StatusVersion = "78" // older than the answer
	Same(t, "requests before it is observed", run(t, m, v, s.answer), nil)
}

// expectStatusAt expects one status, written at a version.
func (s *server) expectStatusAt(t *testing.T, version string) {
	t.Helper()
	if len(s.statuses) != 1 || !strings.Contains(s.statuses[0], `"resourceVersion":"`+version+`"`) {
		t.Errorf("the statuses are %v, want one for version %s", s.statuses, version)
	}
}

// A live read returns the version of the status, so that of the view does not count any more.
func TestStatusElsewhere_afterALiveRead(t *testing.T) {
	m, s := New(), &server{job: Train(1)}
	s.job.ResourceVersion = "2500"
	v := unversioned(fresh(Train(1)))
	v.StatusVersion = "77"
	Same(t, "requests", run(t, m, v, s.answer), []string{"get the Job", "list the pods", "create pod train-", "patch the status"})
	s.expectStatusAt(t, "2500")
}

// The version of the Job says nothing of a status that is elsewhere: the Machine adopts without deciding again, and
// stores the status at the version of the view.
func TestStatusElsewhere_andAnAdoption(t *testing.T) {
	m, s := New(), &server{job: Train(1)}
	v := fresh(s.job, PodOf(s.job, "a", "11", Ownerless))
	v.StatusVersion = "77"
	Same(t, "requests", run(t, m, v, s.answer), []string{"get the Job", "patch pod train-a", "patch the status"})
	s.expectStatusAt(t, "77")
}

// If a pod was gone before its adoption, the machine decides again without it, and does not
// send the other claims again.
func TestAdoption_claimsAreSentOnce(t *testing.T) {
	job := Train(2)
	m, s := New(), &server{job: job}
	s.pods = []*corev1.Pod{PodOf(job, "a", "11", Ownerless), PodOf(job, "b", "12", Ownerless)}
	asked := run(t, m, fresh(job, s.pods...), s.failing(1, PatchPod, notFound(Request{})))
	Same(t, "requests", asked, []string{"get the Job", "patch pod train-a", "patch pod train-b", "create pod train-", "patch the status"})
}

// The error of a sync has all errors of its requests.
func TestErrors_areJoined(t *testing.T) {
	job := suspended(Train(2))
	m, s := New(), &server{job: job}
	run(t, m, fresh(job, PodOf(job, "a", "11"), PodOf(job, "b", "12")), s.except(DeletePod, func(r Request) (runtime.Object, error) {
		if r.Name == "train-a" {
			return nil, errTimeout
		}
		return nil, errConflict
	}))
	if err := m.Result().Err; !errors.Is(err, errTimeout) || !errors.Is(err, errConflict) {
		t.Errorf("the error is %v, want both errors in it", err)
	}
}

// A request that the server finds invalid was not carried out, so nothing is remembered of it.
func TestCreation_badRequest(t *testing.T) {
	job := Train(1)
	m, s := New(), &server{job: job}
	run(t, m, fresh(job), s.except(CreatePod, refusal(apierrors.NewBadRequest("no"))))
	Same(t, "creations that the machine remembers", []int{len(m.memory.Lost), len(m.memory.Created)}, []int{0, 0})
}

// With caches without versions, a sync that reads the written status live leaves nothing to wait
// for.
func TestIdle_withoutVersions(t *testing.T) {
	job := Train(0)
	m, s := New(), &server{job: job}
	for _, idle := range []bool{false, true} {
		run(t, m, unversioned(fresh(s.job)), s.answer)
		Same(t, fmt.Sprintf("idle after %d writes of the status (%s)", len(s.statuses), m.memory.String()), m.Idle(), idle)
	}
}

// Each action has the patch that this table names. No other value changes a pod.
func TestClaimPatch_everyAction(t *testing.T) {
	const strip = `"$deleteFromPrimitiveList/finalizers"`
	job := Train(1)
	s := &sync{Machine: New(), Memory: &memory.Memory{Job: job.UID}, options: decide.Options(), view: fresh(job)}
	pod := PodOf(job, "a", "7")
	for action, parts := range map[string][]string{
		decide.ClaimAdopt:   {`"controller":true`, `"finalizers"`, `"resourceVersion":"7"`},
		decide.ClaimRelease: {`"$patch":"delete"`, strip},
		decide.ClaimFree:    {strip, `"resourceVersion":"7"`},
		"":                  nil,
	} {
		patch := string(s.claimPatch(decide.Claim{Pod: pod, Action: action}))
		for _, part := range parts {
			Same(t, action+": "+patch+" has "+part, strings.Contains(patch, part), true)
		}
		Same(t, action+" has a patch", patch != "", len(parts) > 0)
	}
}

// "The job controller reports errors updating the Job status and/or patching Pods. [...] this can still
// happen if there is a buggy webhook that prevents pod updates to remove finalizers" (KEP-2307 § Known
// failure modes). The error names the pod and says what the webhook says. The pod stays recorded and is
// counted once the webhook lets the patch pass.
func TestFinalizers_webhookRefusesThePatch(t *testing.T) {
	const denied = `admission webhook "policy.example.com" denied the request: no team label`
	job := Train(1)
	pod := PodOf(job, "a", "11", Succeeded)
	m, s := New(), &server{job: job}
	for range 2 {
		v := fresh(s.job, pod)
		v.JobsVersion = "3000"
		asked := run(t, m, v, s.except(PatchPod, refusal(apierrors.NewBadRequest(denied))))
		Same(t, "last request", asked[len(asked)-1], "patch pod train-a")
		err := m.Result().Err
		if err == nil || !strings.Contains(err.Error(), "removing the finalizer of pod train-a") || !strings.Contains(err.Error(), denied) {
			t.Errorf("the error is %v, want one that names the pod and the webhook", err)
		}
		recorded := s.job.Status.UncountedTerminatedPods.Succeeded
		if len(recorded) != 1 || recorded[0] != "a" || s.job.Status.Succeeded != 0 {
			t.Errorf("the status has %d succeeded and records %v, want a recorded and not counted", s.job.Status.Succeeded, recorded)
		}
	}
	v := fresh(s.job, pod)
	v.JobsVersion = "3000"
	run(t, m, v, s.answer)
	Same(t, "ended", m.Result().Ended, true)
	Same(t, "succeeded", s.job.Status.Succeeded, 1)
}
