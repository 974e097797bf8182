// Package proof proves that the Machine counts each pod exactly once, for any number of pods and
// controllers, and checks that the code takes the steps of the proof.
//
// model.sexp is the model: variables, actions, an invariant and properties. [Model] reads it and asks z3
// whether each action keeps the invariant. A [Follower] evaluates the same actions on the events of a
// search or a schedule. docs/proof.md explains both.
package proof
