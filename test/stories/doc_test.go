// Package stories has only tests. They check what happens to Jobs against sentences of the
// KEPs, the API documentation and reports about the Job controller: how pods are counted
// step by step, which pods are created, deleted and replaced, how a Job ends, and how its
// decisions are explained.
//
// Most stories are texts in testdata, in the words of the package script (script_test.go). Those in
// testdata/scenarios also run on a real API server. Texts and functions run in a world: a simulated
// cluster with one Job, a controller that carries out the decisions of jobfate, and a log of its
// writes (world_test.go).
// Properties of every decision are tested in jobtest/decisions, and the decisions of a single
// package in that package.
package stories
