package real

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"
	"unsafe"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	clientset "k8s.io/client-go/kubernetes"
	batchv1listers "k8s.io/client-go/listers/batch/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/utils/clock"
)

// The fields of the controller that a sync uses.
var (
	kubeClient            = slotOf[clientset.Interface]("kubeClient")
	podControl            = slotOf[controller.PodControlInterface]("podControl")
	updateStatusHandler   = slotOf[func(context.Context, *batchv1.Job) (*batchv1.Job, error)]("updateStatusHandler")
	expectations          = slotOf[controller.ControllerExpectationsInterface]("expectations")
	finalizerExpectations = slotOf[*uidTrackingExpectations]("finalizerExpectations")
	jobLister             = slotOf[batchv1listers.JobLister]("jobLister")
	podIndexer            = slotOf[cache.Indexer]("podIndexer")
	queue                 = slotOf[workqueue.TypedRateLimitingInterface[string]]("queue")
	recorder              = slotOf[record.EventRecorder]("recorder")
	clockOf               = slotOf[clock.WithTicker]("clock")
	podBackoffStore       = slotOf[*backoffStore]("podBackoffStore")
	finishedExpectations  = slotOf[sync.Map]("finishedJobExpectations")
)

// A slot is the offset of a field of type T in a job.Controller.
type slot[T any] uintptr

func slotOf[T any](name string) slot[T] {
	f, ok := reflect.TypeFor[job.Controller]().FieldByName(name)
	if !ok {
		panic(fmt.Sprintf("real: the controller has no field %s", name))
	}
	if want := reflect.TypeFor[T](); !mirrors(want, f.Type) {
		panic(fmt.Sprintf("real: the controller's field %s is a %v, not a %v", name, f.Type, want))
	}
	return slot[T](f.Offset)
}

// has reports whether the controller of this release has a field.
func has(name string) bool {
	_, ok := reflect.TypeFor[job.Controller]().FieldByName(name)
	return ok
}

// in returns the field of c.
func (s slot[T]) in(c *job.Controller) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(c), s))
}

// mirrors reports whether ours has the memory layout of theirs: the types are the same, or ours is a
// struct, or a pointer to a struct, that is declared below with the same fields.
func mirrors(ours, theirs reflect.Type) bool {
	if ours == theirs {
		return true
	}
	if ours.Kind() != theirs.Kind() {
		return false
	}
	switch ours.Kind() {
	case reflect.Pointer:
		return mirrors(ours.Elem(), theirs.Elem())
	case reflect.Struct:
		if ours.NumField() != theirs.NumField() {
			return false
		}
		for i := range ours.NumField() {
			o, t := ours.Field(i), theirs.Field(i)
			if o.Name != t.Name || !mirrors(o.Type, t.Type) {
				return false
			}
		}
		return true
	}
	return false
}

// Copies of the controller's unexported types. mirrors can check only types that are reachable from
// an exported type. The tests use each of the others.
type (
	backoffStore struct {
		store cache.Store
	}
	backoffRecord struct {
		key                      string
		failuresAfterLastSuccess int32
		lastFailureTime          *time.Time
	}
	uidTrackingExpectations struct {
		store cache.Store
	}
)

//go:linkname syncJob k8s.io/kubernetes/pkg/controller/job.(*Controller).syncJob
func syncJob(c *job.Controller, ctx context.Context, key string) error

//go:linkname updateJobStatus k8s.io/kubernetes/pkg/controller/job.(*Controller).updateJobStatus
func updateJobStatus(c *job.Controller, ctx context.Context, j *batchv1.Job) (*batchv1.Job, error)

//go:linkname handleSingleOrphanPod k8s.io/kubernetes/pkg/controller/job.(*Controller).handleSingleOrphanPod
func handleSingleOrphanPod(c *job.Controller, ctx context.Context, pod *corev1.Pod) error

//go:linkname addPod k8s.io/kubernetes/pkg/controller/job.(*Controller).addPod
func addPod(jm *job.Controller, logger klog.Logger, pod any)

//go:linkname newBackoffStore k8s.io/kubernetes/pkg/controller/job.newBackoffStore
func newBackoffStore() *backoffStore

//go:linkname updateBackoffRecord k8s.io/kubernetes/pkg/controller/job.(*backoffStore).updateBackoffRecord
func updateBackoffRecord(s *backoffStore, record backoffRecord) error

//go:linkname newBackoffRecord k8s.io/kubernetes/pkg/controller/job.(*backoffStore).newBackoffRecord
func newBackoffRecord(s *backoffStore, key string, succeeded, failed []*corev1.Pod) backoffRecord

//go:linkname newUIDTrackingExpectations k8s.io/kubernetes/pkg/controller/job.newUIDTrackingExpectations
func newUIDTrackingExpectations() *uidTrackingExpectations

//go:linkname expectFinalizersRemoved k8s.io/kubernetes/pkg/controller/job.(*uidTrackingExpectations).expectFinalizersRemoved
func expectFinalizersRemoved(u *uidTrackingExpectations, logger klog.Logger, key string, uids []types.UID) error

//go:linkname getExpectedUIDs k8s.io/kubernetes/pkg/controller/job.(*uidTrackingExpectations).getExpectedUIDs
func getExpectedUIDs(u *uidTrackingExpectations, key string) sets.Set[types.UID]

//go:linkname parseIndexesFromString k8s.io/kubernetes/pkg/controller/job.parseIndexesFromString
func parseIndexesFromString(logger klog.Logger, s string, completions int) Intervals

//go:linkname intervalsTotal k8s.io/kubernetes/pkg/controller/job.orderedIntervals.total
func intervalsTotal(x Intervals) int

//go:linkname intervalsString k8s.io/kubernetes/pkg/controller/job.orderedIntervals.String
func intervalsString(x Intervals) string

//go:linkname intervalsHas k8s.io/kubernetes/pkg/controller/job.orderedIntervals.has
func intervalsHas(x Intervals, ix int) bool

//go:linkname intervalsMerge k8s.io/kubernetes/pkg/controller/job.orderedIntervals.merge
func intervalsMerge(x, y Intervals) Intervals

//go:linkname getRemainingTimeForFailuresCount k8s.io/kubernetes/pkg/controller/job.getRemainingTimeForFailuresCount
func getRemainingTimeForFailuresCount(c clock.WithTicker, base, limit time.Duration, failures int32,
	last *time.Time) time.Duration

//go:linkname getRemainingTimePerIndex k8s.io/kubernetes/pkg/controller/job.getRemainingTimePerIndex
func getRemainingTimePerIndex(logger klog.Logger, c clock.WithTicker, base, limit time.Duration,
	lastFailed *corev1.Pod) time.Duration

//go:linkname getNewIndexFailureCounts k8s.io/kubernetes/pkg/controller/job.getNewIndexFailureCounts
func getNewIndexFailureCounts(logger klog.Logger, j *batchv1.Job, replaced *corev1.Pod) (int32, int32)

//go:linkname matchPodFailurePolicy k8s.io/kubernetes/pkg/controller/job.matchPodFailurePolicy
func matchPodFailurePolicy(policy *batchv1.PodFailurePolicy,
	failed *corev1.Pod) (*string, bool, *batchv1.PodFailurePolicyAction)

//go:linkname matchSuccessPolicy k8s.io/kubernetes/pkg/controller/job.matchSuccessPolicy
func matchSuccessPolicy(logger klog.Logger, policy *batchv1.SuccessPolicy, completions int32,
	succeeded Intervals) (string, bool)
