// Package observe follows the Jobs and pods of a namespace, and lets a test wait
// for what it expects of them.
//
// Nothing passes unseen: a view goes through all changes in the order in which
// they came, one at a time, and each wait goes on where the last one ended. So a
// state that lasts for a moment only can be waited for, and an invariant is
// checked in every state. When what a test waits for does not come, it fails
// with the story of what came instead.
package observe
