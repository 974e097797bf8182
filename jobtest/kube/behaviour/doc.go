// Package behaviour contains scripts of requests and the answers of a real kube-apiserver
// 1.37.2. The tests of package kube run the scripts on the in-process server. Those of
// test/kubernetes/e2e/apibehaviour run them on a real one, and record the answers.
//
// A script consists of rows, which begin with a line "== name". Each row has its own
// namespace and consists of steps, which end with an empty line:
//
//	POST /api/v1/namespaces/{ns}/pods
//	show metadata.name, status.phase
//	{"metadata": {"name": "a"}}
//	----
//	201 Created
//	metadata:
//	  name: a
//
// A step may have header lines ("Content-Type: …"). The line "show" selects fields of the
// answer; without it the whole answer is recorded. A failure is recorded as a whole unless
// the line selects its reason. The line "eventually" marks a request that is repeated until
// the recorded answer comes, because the garbage collector must act first.
//
// In requests {ns} is the namespace, {a.uid} the UID of the object a, {a.rv} its last known
// resource version and {a.rv-1} the one before. {name} is the name of the object in the last
// answer, {list.rv} the resource version of the last list and {continue} its token. In
// answers, values that differ between runs are replaced by the same variables, and times
// close to the present by their distance from it.
package behaviour
