// Package census keeps the classified pods of a Job, so that the cost of a decision depends on
// what has changed since the last one.
//
// A [Census] holds a [Record] for each pod, and the totals; pods are added to it and removed
// from it one by one. [Census.Account] passes the candidates for counting to a Classifier.
// For Indexed Jobs [Census.IndexResults] returns which indexes are done, and
// [Census.Predecessor] the failed pod that the next pod of an index replaces.
//
// Package jobfate decides how many pods a Job should have.
package census
