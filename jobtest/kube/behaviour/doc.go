// Package behaviour is a table of what kube-apiserver 1.36.3 answers to requests,
// as scripts: requests, and the answers that a real server gave. The tests of
// package kube play the scripts on the server in process; those of
// e2e/apibehaviour play them on a real one, and record the answers.
//
// A script is rows that begin with a line "== name". A row has a namespace of its
// own and consists of steps, which end with an empty line:
//
//	POST /api/v1/namespaces/{ns}/pods
//	show metadata.name, status.phase
//	{"metadata": {"name": "a"}}
//	----
//	201 Created
//	metadata:
//	  name: a
//
// A step may have header lines ("Content-Type: …"). The line "show" picks fields
// of the answer; without it the answer is shown whole. A failure is shown whole
// unless the line picks its reason. The line "eventually" marks
// a request that is repeated until the recorded answer comes: the garbage collector
// has to act first.
//
// In requests {ns} is the namespace, {a.uid} the UID of the object a, {a.rv} its
// resource version as it was seen last and {a.rv-1} the one before. {name} is the
// name of the object that was seen last, {list.rv} the resource version of the
// last list and {continue} its token. In answers what differs
// from run to run is replaced in the same manner, and times close to the present
// become their distance from it.
//
// The package knows no server: the tests send the requests.
package behaviour
