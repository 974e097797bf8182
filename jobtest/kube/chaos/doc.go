// Package chaos runs a Reconciler under random schedules of faults, and says when it breaks
// a property that every controller of Jobs must hold:
//
//	func TestReconciler(t *testing.T) {
//		chaos.Test(t, func(env *chaos.Env) reconcile.Reconciler {
//			return &MyReconciler{Client: env.Client, Live: env.Live}
//		})
//	}
//
// A schedule has 200 steps: pods start, end and are deleted, users edit the Job, caches lag
// and move during a reconcile, requests fail or lose their answers, the controller is killed
// and starts again with older caches, and two of them overlap. In every second schedule the
// faults then stop, and the Job must end. The properties are those of docs/reliability.md;
// packages jobtest/chaos and jobtest/referee do the work.
//
// The factory makes a Reconciler for each start of the controller, so it remembers nothing. A
// sync function is a Reconciler as well, through [reconcile.Func]. [Env] has what it needs:
// clients, the stores and informers of the caches, a manager for SetupWithManager, a
// [rest.Config] for client-go. [Config] says which Jobs run, how many schedules, and what
// Reconcile is called with.
//
// The package knows nothing of how the Reconciler decides: only its requests.
//
// # Several Jobs
//
// In each fourth schedule there are two Jobs: in one namespace, with selectors of their own
// or with selectors that match the pods of both, or in two namespaces under one name. Jobs
// are deleted and created again under their name, and pods are orphaned and adopted. The
// referee judges each Job by its own ledger. While Reconcile runs for a Job, it must not write
// to another Job or its pods.
//
// # A report
//
// The first schedule that breaks a property is shortened while it breaks the same one in the
// same words, and told: the property, what it means, the steps, the cause of a stall, and the
// command that runs it again, in 60 lines at most. The flag -chaos.seed runs one schedule,
// -chaos.schedules as many as it says, from -chaos.first on.
//
// [Env.Fail] reports what a test has found itself, for example in what the Reconciler counts
// or logs. The schedule is then shortened and told like any other.
//
// # How Reconcile is called
//
// Directly, from one goroutine, in a bubble of [testing/synctest]: time.Now is the time of
// the cluster. It never goes back. Each call is for one Job; [Config.Requests] adds calls. An error discards the result, a RequeueAfter with it, as
// in controller-runtime: [Env.RateLimiter] then says when Reconcile is called next. A
// terminal error is not retried. Reconcile is also called when nothing has changed, which is
// always allowed.
//
// What Reconcile reads from a cache, and when, is known, and it is judged by that: by any of
// its reads, where it has read twice. A Reconciler that depends on chance, as on the order of
// a map or of goroutines, may not do the same again for the same seed.
//
// # What is served
//
// Reads of Jobs and pods, cached and live; creations, updates, strategic and merge patches of
// metadata, and deletions of pods; updates and merge patches of the status of a Job. Objects
// of other kinds are stored in package kube, without faults. What is asked for beyond that,
// such as a watch, a change of the Job's spec or server-side apply, fails the test and says
// so. A cache never goes back in time within the life of its process, as those of client-go.
package chaos
