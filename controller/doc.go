// Package controller is a Job controller to import. It decides like the Job controller of
// Kubernetes, and runs next to it, on clusters of version 1.35 or later.
//
//	mgr, err := controller.NewManager(config, controller.Options{ManagedBy: "example.com/jobs"})
//	if err != nil {
//		return err
//	}
//	return mgr.Start(ctx)
//
// This runs the Jobs whose spec.managedBy is example.com/jobs. [Add] adds the same
// controller to an existing manager, and [AddKind] runs custom resources as Jobs. Each
// controller has its own caches, and does not use those of the manager. It fills them when
// its process becomes the leader.
//
// The package watches objects, and sends the requests of a [machine.Machine], which decides.
//
// To read the code, begin with reconcile.go, which is one sync of a Job. send.go sends the
// requests of the Machine. store.go and pods.go are the caches, and watch.go fills them.
// route.go decides which Jobs a change concerns. orphans.go frees pods whose Job is gone.
// kind.go contains the differences for custom resources.
package controller
