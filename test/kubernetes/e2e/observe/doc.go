// Package observe follows the Jobs and pods of a namespace, and lets a test wait for
// expected states.
//
// A view misses no change. It processes all changes one at a time, in order, and each wait continues
// where the last one ended. A test can therefore wait for a state that lasts only a moment, and
// invariants are checked in every state. If an expected state does not occur, the test fails and
// lists the changes that did.
package observe
