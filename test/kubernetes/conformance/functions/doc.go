// Package functions compares the leaf packages of jobfate with single functions of the Job
// controller of Kubernetes. It contains only tests.
//
// Each test calls both functions with the same random inputs. The inputs go beyond those of
// a whole sync: texts that no status contains, clocks that run backwards, hundreds of
// failures. If the two differ on purpose, the test names the entry of docs/divergences.md and
// checks its condition.
//
// The inputs of a test grow, so the first failure is a small one. The flag -cases sets their
// number, a million by default; -seed repeats a run.
package functions
