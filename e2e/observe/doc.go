// Package observe follows the Jobs and pods of a namespace, and lets a test wait for
// expected states.
//
// No change is missed: a view goes through all changes one at a time, in their order, and
// each wait continues where the last one ended. A test can therefore wait for a state that
// lasts only a moment, and invariants are checked in every state. If an expected state does
// not come, the test fails with the list of the changes that came instead.
package observe
