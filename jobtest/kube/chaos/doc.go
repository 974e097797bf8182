// Package chaos runs a Reconciler under random schedules of faults, and reports when it
// violates a property that every Job controller must have. Use it for a controller with
// controller-runtime or client-go. For a controller that uses no Kubernetes client use
// package jobtest/chaos, which needs no other module.
//
//	func TestReconciler(t *testing.T) {
//		chaos.Test(t, func(env *chaos.Env) reconcile.Reconciler {
//			return &MyReconciler{Client: env.Client, Live: env.Live}
//		})
//	}
//
// A schedule has 200 steps: pods start, end and are deleted, users edit the Job, caches lag
// and change during a reconcile, requests fail or lose their answers, the controller is
// killed and restarts with older caches, and two processes overlap. In every second schedule
// the faults stop after these steps, and the Job must end. The properties are those of
// docs/reliability.md; packages jobtest/chaos and jobtest/referee do the work.
//
// The factory makes a new Reconciler for each start of the controller. To test a sync
// function, wrap it in [reconcile.Func]. [Env] has what the factory needs: clients, the
// stores and informers of the caches, a manager for SetupWithManager, a [rest.Config] for
// client-go, and a context that ends with the process. [Config] sets which Jobs run, how many
// schedules there are, and for which requests Reconcile is called.
//
// The package does not know how the Reconciler decides: it judges only the requests.
//
// A controller that creates Jobs is tested with a [Creator].
//
// # Several Jobs
//
// Every fourth schedule has two Jobs. They are in one namespace, with separate selectors or
// with selectors that match the pods of both, or they have the same name in two namespaces.
// Jobs are deleted and created again with the same name, and pods are orphaned and adopted.
// The referee keeps a ledger for each Job. While Reconcile runs for one Job, it must not
// write to another Job or to the pods of another Job.
//
// # Controllers that create Jobs
//
// [Creator.Test] runs a controller that creates Jobs for the objects of another kind, on
// the API server of package kube. The faults are the same, except for overlapping processes
// and for conflicts and rejections that the object does not explain. The Jobs have no pods: they
// end as [Creator.Outcome] says. The [Env] has the clients, the Manager, the RateLimiter and the
// Config, but no stores and no informers.
//
// Each schedule stops its faults after 1 to 200 steps. From then on Reconcile is called
// only when it is due: after an error, after RequeueAfter, or when the caches show an event
// of the object or of something that it controls. So the test finds a Reconcile that waits
// for an event that never comes.
//
// The properties are C1 to C4 of docs/reliability.md. With [Creator.Purpose] the test
// defines which Jobs replace each other, and with [Creator.Judge] what else must hold and
// how everything ends. [examples/jobgroup] shows a test.
//
// # A report
//
// The first schedule that violates a property is shrunk while it violates the same property
// with the same text. The report has at most 60 lines: the property and its meaning, the
// steps, the cause of a stall, and the command that runs the schedule again. The flag
// -chaos.seed runs one schedule, -chaos.schedules sets their number, and -chaos.first the
// first seed.
//
// With [Env.Fail] a test reports a violation of its own condition, for example one about the
// metrics or the log of the Reconciler. The schedule is then shrunk and reported in the same
// way.
//
// # How Reconcile is called
//
// Reconcile is called directly, from one goroutine, in a bubble of [testing/synctest].
// time.Now is the time of the cluster, which never goes back. Each call is for one Job;
// [Config.Requests] adds calls. As in controller-runtime, an error discards the result with
// its RequeueAfter, and [Env.RateLimiter] says when Reconcile is called next. A terminal
// error is not retried. Reconcile is also called when nothing has changed, which is always
// allowed.
//
// The referee knows each cache read of Reconcile. A write is correct if it is correct for
// one of these reads. If a Reconciler is not deterministic, because of random names, the
// order of a map or of goroutines, a repeated seed may give another result. A controller that
// names its pods must not use a name twice: a cache may show the old pod beside the new one.
//
// # Controllers with queues and informers
//
// The schedule decides when the controller acts, when time passes, and which changes a cache
// shows. So nothing in the process may act by itself: a manager is not started, and no
// workers or informers run. A controller with client-go registers its event handlers with
// [Env.Informer] and reads [Env.Jobs] and [Env.Pods]. Its sync function is called by the
// Reconciler that the factory returns, for a Job or, with [Config.Requests], for what its
// queue has. What needs goroutines, such as a queue or a broadcaster of events, must end with
// [Env.Context].
//
// Test a program that runs by itself, for example one with controller.Add or
// controller.AddKind of jobfate, on the API server of package kube: its manager runs there.
//
// # What is served
//
// The API server is that of package kube. With a [Config], the Jobs and the pods are in the
// cluster of the schedule instead: it serves live reads of both; creations, updates, deletions
// and patches of the metadata of pods; updates and merge patches of the status of a Job.
// Objects of other kinds are stored by package kube, without faults; events are dropped. Any
// other request for Jobs and pods, such as a watch, a change of the Job's spec or a
// server-side apply, fails the test with an explanation. As in client-go, a cache never goes
// back in time within one process.
//
// [examples/jobgroup]: https://github.com/jobfate/jobfate/tree/main/examples/jobgroup
package chaos
