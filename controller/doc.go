// Package controller runs Jobs: it is a Job controller to import. It decides as the
// Job controller of Kubernetes does, and runs beside it, on clusters from 1.32 on.
//
//	mgr, err := controller.NewManager(config, controller.Options{ManagedBy: "example.com/jobs"})
//	if err != nil {
//		return err
//	}
//	return mgr.Start(ctx)
//
// This runs the Jobs whose spec.managedBy is example.com/jobs. [Add] adds the same to a
// manager that exists, and [AddKind] runs objects of a kind of your own as if they were
// Jobs. Every controller has caches of its own, which it fills once its process leads: it
// needs nothing of the manager's cache, and drops nothing from it.
//
// To read it, begin with reconcile.go, which is one sync of a Job: a [jobfate.Machine]
// decides it and names the requests, send.go sends them, and store.go is what the caches
// hold. watch.go fills these, and route.go says what a change wakes. orphans.go frees the
// pods that have no Job. kind.go says what differs for a kind of your own.
package controller
