// Package lifetime runs the same Jobs to their end with jobfate and with the Job controller of Kubernetes, and compares
// the ends. It contains only tests. Package sync compares single decisions.
//
// Each controller has a world of its own, a cluster of package cluster, and both follow one plan: what the user and the
// pods do, and when the watches stall. The real controller has its default feature gates, so it skips a sync while its
// cache is older than its own writes. Both write their statuses through the validation of the API server.
//
// In TestEnds the end of the Job must be the same, or become the same when jobfate imitates Kubernetes in an entry of
// docs/divergences.md. TestProgress compares how often each stores a status. TestHandover moves each Job between the
// two, at any write, and counts its pods.
//
// The flag -rapid.checks sets the number of lives: TestEnds runs 10,000 in half a minute.
package lifetime
