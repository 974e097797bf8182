// Package controller is a Job controller to import. It decides like the Job controller of
// Kubernetes, and runs next to it, on clusters of version 1.32 or later.
//
//	mgr, err := controller.NewManager(config, controller.Options{ManagedBy: "example.com/jobs"})
//	if err != nil {
//		return err
//	}
//	return mgr.Start(ctx)
//
// This runs the Jobs whose spec.managedBy is example.com/jobs. [Add] adds the same
// controller to an existing manager, and [AddKind] runs custom resources as Jobs. Each
// controller has its own caches, which it fills once its process is the leader. It does
// not use the manager's cache.
//
// To read the code, begin with reconcile.go, one sync of a Job: a [jobfate.Machine]
// decides and returns the requests, send.go sends them, and store.go and pods.go are the
// caches. watch.go fills them, and route.go decides which Jobs a change triggers. orphans.go
// frees pods without a Job. kind.go contains the differences for custom resources.
//
// The package knows no rules for Jobs. It watches, and sends the requests of a
// [jobfate.Machine].
package controller
