// Package group decides what the failure of a Job means for the group that the Job is part of:
// restart it, restart its template or the whole group, leave it, or suspend, complete or fail the
// group. It is for frameworks above Jobs.
//
// It judges Jobs; [failurepolicy] judges pods. It does not create, place or order Jobs, and has no client and no clock.
//
// # Rules, steps, budgets
//
// A [Policy] is data. A [Rule] matches failures and has a list of steps. A [Step] has an action,
// and may charge budgets. The first step whose budgets all have units left is taken. If no step of
// the rule can be taken, or no rule matches, the group fails.
//
//	budgets:
//	- {name: alone, per: Member, max: 2}
//	- {name: together, per: Group, max: 1}
//	rules:
//	- name: infrastructure        # costs nothing
//	  onClasses: [Infrastructure]
//	  steps:
//	  - action: RestartMember
//	- steps:                      # the Job twice, then the group once, then fail
//	  - {action: RestartMember, charges: [alone]}
//	  - {action: RestartGroup, charges: [together]}
//
// A restart or suspension of the group empties the budgets with renew: with "renew: true", the budget alone of the
// example allows two restarts of each Job before the group is restarted, and two after it.
//
// The number of restarts has a bound if all steps that restart charge a budget without a window, and those that
// restart or suspend the group one that has no renew either: then no more restarts are possible than these budgets
// have units, those with renew again after each restart or suspension of the group.
//
// If there are several failures, the first rule that matches any of them decides, and of the
// failures that it matches, the earliest. Failures of the same time are ordered by the name of the
// member. The order of the arguments has no effect, so controllers with differently ordered caches
// agree.
//
// # Attempts: each failure counts once
//
// The [State] counts restarts. Their sum for a member is its attempt, [State.Attempt]. The caller
// creates each Job with the attempt that it belongs to, for example in an annotation, and passes
// it back in the [Failure]. A failure of an earlier attempt changes nothing. A failure of a later
// attempt, and for [MakePlan] any Job of a later attempt, is an [OldStateError].
//
// A call decides about one failure. The caller
//
//  1. reads the state and the Jobs, and calls [Decide];
//  2. if the decision has changed the state, stores it in one write that fails if another client has
//     stored one, and only then acts;
//  3. deletes the Jobs of earlier attempts, and when they are gone, creates those of the current
//     attempt, not before [State.NotBefore];
//  4. if failures are open, calls Decide again.
//
// For Jobs, [MakePlan] does 1 and returns what to do in 2 and 3.
//
// Step 3 follows from the state alone, so it may stop anywhere and be repeated by another process.
// The same failure twice, in another order, or after a crash between 2 and 3, has no further effect.
//
// If failures are not known at once but in several calls, each call decides without those to come:
//
//   - No order exceeds a budget, counts a failure twice, or leaves one open.
//   - The end is that of one call if the failures arrive in the order in which it decides about them.
//   - In any other order the end is the same unless an earlier decision changes a later one. It can do so
//     in two ways: it restarts the Job of the other failure, or suspends or ends the group, and the other
//     failure is then void; or both rules charge a budget of the group, or of the template of both.
//
// # Where the state lives
//
// Store the state in the status of an object that lives as long as the budgets should last: the
// custom resource, not a Job, and not an object that is recreated or that a TTL deletes.
//
// A state that was lost, or restored from a backup, has forgotten what was charged, which members were left and
// that the group has ended. While a Job of a later attempt exists, [MakePlan] returns an [OldStateError], and
// nothing is decided. A cache that lags looks the same, so first read the state and the Jobs live. If the error
// stays, there are two ways to go on:
//
//   - Add the difference of the attempts to the restarts of the member in [State.Members]. Its Job stays.
//   - Delete the Jobs of later attempts. They are created again, for the attempt of the state.
//
// The state is JSON of at most [StateSize] bytes. It has the version of its format, so that during
// a rolling upgrade an old library refuses the state of a new one, instead of losing a part of it.
package group
