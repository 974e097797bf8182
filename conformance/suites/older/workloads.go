//go:build ignore

package real

import "k8s.io/kubernetes/pkg/controller/job"

// This file takes the place of real/workloads.go for the releases before 1.36, whose
// controller has neither the caches of Workloads and PodGroups nor a consistency store.

func setWorkloads(*job.Controller) {}
