//go:build ignore

package real

import "k8s.io/kubernetes/pkg/controller/job"

// This file replaces real/workloads.go for releases before 1.36. The controllers of these releases
// have no caches of Workloads and PodGroups, and no consistency store.

func setWorkloads(*job.Controller, *Input) {}

func isStale(error) bool { return false }
