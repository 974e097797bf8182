// Package stories has no code, only tests that tell what happens to Jobs, as the KEPs, the API
// and reports about the Job controller put it: how pods are counted step by step, which pods
// are created, deleted and replaced, how a Job ends, and how its decisions are explained.
//
// Most stories are played in a world: a simulated cluster with one Job, a controller that
// carries out the decisions of jobfate, and a log of what it does (world_test.go). The stories
// in testdata are scripts of commands and their outputs; scenarios_test.go has the grammar.
// What must hold for every decision is tested in the root, and what a single package decides
// in that package.
//
// The stories see only decisions, explanations and the requests of the controller. They know
// nothing of how a decision is made.
package stories
