// Package kube is an in-process Kubernetes API server for testing production code
// unchanged: clientsets and informers of client-go, and clients and managers of
// controller-runtime. It uses no sockets, and nothing happens unless a test or a client
// causes it.
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
// If they start in a bubble of [testing/synctest], the server and its clients use virtual
// time: resyncs, backoffs, leases and watch timeouts take no real time, and synctest.Wait
// returns when no controller can do anything more. In a bubble:
//
//   - Sleep for a second after the start of a manager, because it polls its caches.
//   - Set UsePriorityQueue to false in the options of a manager of controller-runtime before
//     0.25. Its priority queue may leave a blocked goroutine behind when it shuts down, and
//     then the bubble panics.
//   - Set k8s.io/apimachinery/pkg/util/runtime.ErrorHandlers to nil. The default handlers
//     wait between errors, counted from the start of the process. That is decades after the
//     time in a bubble, so they would wait for decades.
//
// # Determinism
//
// The server handles one request at a time, UIDs are numbered, and generated names come
// from Options.Seed. A test that makes its requests from one goroutine always gets the
// same answers. To test a Reconciler deterministically, call it directly, with a client
// that writes live and reads from a [Cache]. The test controls the state of the cache for
// each kind: event by event, stale, or back in time. Workers and
// informers are goroutines, so their order is random.
//
// # Faults
//
// [Server.Intercept] decides about each request before it takes effect: reject it with a
// status, break the connection, lose the answer, delay it, or change the cluster first.
// [Server.CloseWatches] closes watches, and [Server.Compact] compacts old revisions.
// [Server.Observe] sets an observer of all changes.
//
// # What it implements
//
// Answers follow kube-apiserver 1.37.2: codes, reasons, messages and causes; defaults of
// pods and Jobs, generated selectors and generations; conflicts and preconditions;
// subresources; the three kinds of patch; finalizers, propagation and graceful deletion;
// selectors, pages and resource versions; watches with initial events, bookmarks and 410
// Gone. Package behaviour is a table of requests that is run on both servers to verify
// this. Jobs and their statuses are validated by package validation of jobfate.
//
// # What it does not implement
//
//   - Server-side apply (415) and managedFields.
//   - Protobuf and CBOR in answers, which are JSON; request bodies may be protobuf. Tables
//     and aggregated discovery, for which clients have a fallback, and OpenAPI.
//   - Authentication, authorization, warnings, and admission except for namespaces,
//     default tolerations and priority: no service account, quota or limit range.
//   - Schemas of custom resources: nothing except the metadata is pruned, defaulted or
//     validated. CustomResourceDefinition itself: see Options.Kinds.
//   - Most validation of pods, and all validation of other kinds except Jobs, namespaces
//     and metadata. An error may list a cause once that the API server lists twice.
//   - Subresources except status, the binding of pods and the finalize of namespaces: no
//     eviction, logs or scale.
//   - Periodic bookmarks; the seconds that the API server waits for a future resource
//     version; the expiry of events.
//   - Foreground deletion of owners that form a cycle.
//   - Lists and watches during concurrent writes: each is consistent at one point in time.
package kube
