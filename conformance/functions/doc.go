// Package functions compares the leaves of jobfate with single functions of the
// Job controller of Kubernetes. It holds tests only.
//
// Each test calls one function of either on the same random inputs, which reach
// further than those of a whole sync: texts that no status holds, clocks that
// run backwards, hundreds of failures. Where the two are meant to differ, the
// test says under which name of docs/divergences.md, and what must hold then.
//
// The inputs of a test grow from small to large, so the first that fails is a
// small one. The flag -cases says how many there are, a million unless said
// otherwise; -seed repeats a run.
package functions
