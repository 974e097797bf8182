// Package kube is the Kubernetes API server in process, for tests of the code that
// people ship: clientsets and informers of client-go, clients and managers of
// controller-runtime. There are no sockets, and nothing runs by itself.
//
// A [Server] is the transport of a [rest.Config]:
//
//	s := kube.New(kube.Options{})
//	client := kubernetes.NewForConfigOrDie(s.Config())
//	client.BatchV1().Jobs("default").Create(ctx, job, metav1.CreateOptions{})
//
//	mgr, err := ctrl.NewManager(s.Config(), ctrl.Options{Metrics: server.Options{BindAddress: "0"}})
//	go mgr.Start(ctx)
//
//	kubelet := kube.Kubelet{Server: s}
//	kubelet.Start("default", "a-0")
//	kubelet.End("default", "a-0", 0)
//	kube.Collector{Server: s}.Run()
//
// # Time
//
// Started in a bubble of [testing/synctest], the server and its clients live in
// virtual time: resyncs, backoffs, leases and timeouts of watches pass at once,
// and synctest.Wait returns when every controller has done what it could. A
// manager polls its caches while it starts; sleep a second first. Set
// k8s.io/apimachinery/pkg/util/runtime.ErrorHandlers to nil: by default client-go waits
// after an error until a moment has passed since the last one, and takes the start of the
// process for that, which lies decades after the time in a bubble.
//
// # Determinism
//
// Requests are served one at a time, UIDs count, and generated names come from
// Options.Seed. A test that makes its requests from one goroutine gets the same
// answers every time. To have that of a Reconciler, call it, with a client that
// writes live and reads from a [Cache]. The test says how far the cache is for
// each kind: event by event, object by object, behind, back in time, or wrong.
// Workers and informers are goroutines, and in their order there is chance.
//
// # Faults
//
// [Server.Intercept] decides about each request before it takes effect: refuse it
// with a status, break the connection, lose the answer, delay it, or change the
// cluster first. [Server.Deliver] drops, repeats or reorders the events of
// watches; [Server.CloseWatches] ends them, and [Server.Compact] forgets the past.
// [Server.Observe] is told of each change.
//
// # What it is like
//
// Answers follow kube-apiserver 1.36.3: codes, reasons, messages and causes;
// defaults of pods and Jobs, generated selectors and generations; conflicts and
// preconditions; subresources; the three kinds of patch; finalizers, propagation
// and graceful deletion; selectors, pages and resource versions; watches with
// initial events, bookmarks and 410 Gone. Package behaviour is the table that says
// so, played on both servers. Jobs and their statuses are validated by package
// validation of jobfate.
//
// # What it leaves out
//
//   - Server-side apply (415) and managedFields.
//   - Protobuf and CBOR in answers, which are JSON; bodies may be protobuf. Tables
//     and aggregated discovery, which clients fall back from, and OpenAPI.
//   - Authentication, authorization, warnings, and admission but for namespaces,
//     default tolerations and priority: no service account, quota or limit range.
//   - Schemas of custom resources: nothing is pruned, defaulted or validated but
//     the metadata. CustomResourceDefinition itself: see Options.Kinds.
//   - Most validation of pods, and all of kinds other than Jobs, pods and
//     namespaces but for the metadata. An error may name a cause once that the API
//     server names twice.
//   - Subresources but for status and the finalize of namespaces: no binding, no
//     eviction, no logs, no scale.
//   - Bookmarks by the clock (see [Server.Bookmark]); the seconds that the API
//     server waits for a resource version of the future; the life span of events.
//   - Deletion in the foreground of owners that form a circle.
//   - A list or watch that goes on while others write: each is of one moment.
package kube
