// Package chaos runs Job controllers through random Job lifetimes and reports violated
// properties. Use it for a controller that uses no Kubernetes client: you implement
// [cluster.Controller]. For a controller with client-go or controller-runtime use package
// jobtest/kube/chaos, which runs the same schedules.
//
// [Run] makes random choices: pods start, end, are deleted and edited, the spec changes,
// caches lag, requests fail or lose their answers, controllers die and restart with a
// stale view, and two controllers act at the same time. The referee checks each step. In
// [Liveness] mode the faults then stop, and the Job must end. A violation is reported as a
// story: the steps that led to it, shrunk.
//
// A run is a function of its seed and uses neither goroutines nor clocks, so a seed that
// finds a violation always finds it.
package chaos
