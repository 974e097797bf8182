package chaos

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/jobtest/internal/driver"
	"github.com/jobfate/jobfate/jobtest/kube"
)

// actions is set by init, because some actions call functions that draw from it.
var actions []driver.Action[*schedule]

func init() {
	actions = []driver.Action[*schedule]{
		{Name: "sync", Step: 60, Do: func(s *schedule) bool {
			s.reconcile(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(driver.Pick(s, s.owners...))})
			return true
		}},
		{Name: "cache shows a change", Step: 40, Aside: 6, Do: func(s *schedule) bool {
			return s.p.show(driver.Pick(s, s.seen()...))
		}},
		{Name: "cache shows everything", Step: 20, Aside: 2, Do: func(s *schedule) bool {
			s.p.showAll()
			return true
		}},
		{Name: "Job advances", Step: 40, Aside: 4, Do: func(s *schedule) bool {
			jobs := s.jobs()
			return len(jobs) > 0 && s.advanceJob(driver.Pick(s, jobs...))
		}},
		{Name: "garbage collected", Step: 25, Aside: 3, Do: func(s *schedule) bool {
			return kube.Collector{Server: s.server}.Step()
		}},
		{Name: "Job deleted in the background", Step: 2, Aside: 1, Do: func(s *schedule) bool {
			jobs := s.jobs()
			return len(jobs) > 0 && s.end == "" && s.delete(driver.Pick(s, jobs...))
		}},
		{Name: "owner made again", Step: 1, Aside: 1, Do: func(s *schedule) bool {
			o := driver.Pick(s, s.owners...).DeepCopyObject().(client.Object)
			s.delete(o)
			return s.users.Create(context.Background(), o) == nil
		}},
		{Name: "object annotated", Step: 2, Aside: 1, Do: func(s *schedule) bool {
			o := driver.Pick(s, s.owners...).DeepCopyObject().(client.Object)
			if jobs := s.jobs(); len(jobs) > 0 && s.IntN(2) == 0 {
				o = driver.Pick(s, jobs...).DeepCopy()
			}
			patch := fmt.Sprintf(`{"metadata":{"annotations":{"example.com/note":"%d"}}}`, s.IntN(1000))
			return s.users.Patch(context.Background(), o, client.RawPatch(types.MergePatchType, []byte(patch))) == nil
		}},
		{Name: "a moment passes", Step: 8, Aside: 1, Do: func(s *schedule) bool {
			time.Sleep(time.Duration(s.IntN(3000)) * time.Millisecond)
			return true
		}},
		{Name: "time passes to the requeue", Step: 8, Do: func(s *schedule) bool {
			time.Sleep(max(0, time.Until(s.nextDue())))
			return true
		}},
		{Name: "controller restarts", Step: 3, Do: func(s *schedule) bool {
			s.start()
			return true
		}},
	}
}

// choose draws an action and executes it.
func (s *schedule) choose(weight func(*driver.Action[*schedule]) int) {
	driver.Act(s.Schedule, actions, weight, func(i int) bool {
		s.Log.Begin(s.Step, time.Now(), actions[i].Name)
		return actions[i].Do(s)
	})
}

// meanwhile lets something happen during Reconcile, in that percentage of cases.
func (s *schedule) meanwhile(percent int) {
	if s.Meanwhile(percent) {
		s.choose(driver.Aside)
	}
}

// delete deletes an object, and reports whether there was one.
func (s *schedule) delete(o client.Object) bool {
	return s.users.Delete(context.Background(), o, client.PropagationPolicy("Background")) == nil
}
