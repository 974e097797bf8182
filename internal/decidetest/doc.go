// Package decidetest is for tests of decisions that wait for writes to be observed, and
// of what follows when writes fail: the public [jobfate.Snapshot] knows neither. It draws
// what package decide is given, makes public decisions of outcomes, and reads Jobs.
//
// The package knows no rule for Jobs: it does not say which decision is right.
package decidetest
