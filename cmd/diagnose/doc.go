// Package diagnose says why a Job makes no progress. It looks at the decision, at the pods, and at what
// surrounds the Job: Events, Nodes, the owners of the Job and what its pods need.
//
// [Of] diagnoses a [decide.Decision]. Package explain says how to decide for the Job of another controller;
// [Unmanaged] needs no decision. [List] has the causes in the order of their rank, with what each means and
// what to do.
//
// Texts contain names and messages of the input as they are: a program that prints them to a terminal
// must escape control characters, as the command does.
//
// The package is pure: it reads a decision, its snapshot and the evidence, and changes none of them.
package diagnose
