// Package group decides what the failure of a Job means for the group that the Job is part of:
// restart it, restart its template or the whole group, leave it, or suspend, complete or fail the
// group. A [Driver] carries the decisions out. The package is for frameworks above Jobs.
//
// It judges objects that end, such as the Jobs of package jobs; package failurepolicy judges pods. It does not
// place or order Jobs, and has no client and no clock.
//
// # Usage
//
// Begin a sync with the content of the caches, and send the requests of the Driver:
//
//	var d group.Driver
//	d.Begin(group.View{Owner: owner, Members: members, Now: time.Now()})
//	result := d.Run(send)
//
// The [Owner] is the object whose status holds the [State]. The members are Jobs, groups within the group
// ([Nested]), or any other [Object]. Sync again when the owner or one of its members changes, after result.Requeue,
// and soon if result.Err is set. A sync may stop anywhere; this process or another one can then begin a new one.
//
// # What the caller guarantees
//
//   - GetOwner and ListMembers go to the API server, never to a cache, and the list is read after the owner.
//   - StoreState writes the whole state, and fails if the owner has another UID or resource version.
//   - DeleteMember fails if the object has another UID.
//   - CreateMember creates an object that the owner of the request controls, with its attempt, for example in an
//     annotation. Neither changes.
//   - The name of an object is a function of its member, so a second creation fails. A member without a name can only
//     be restarted with its template or group, and if a creation without an answer takes effect, it does so before a
//     later list.
//   - Nothing else, and no TTL, deletes an object before the group has ended. It would be created again, and a failure
//     that is not decided yet would be lost.
//   - The owner lives as long as the budgets should last: it is the custom resource, not a Job, and not an object
//     that is recreated or that a TTL deletes.
//
// # What the Driver never does
//
//   - It acts on no cache: before it stores, deletes or creates anything, it has read the owner and the members.
//   - It remembers nothing from one sync to the next.
//   - It neither deletes nor creates what a state requires that is not stored yet.
//   - It deletes no object of the current attempt before the end of the group.
//   - It creates no member that exists, and none while an object of an earlier attempt does.
//   - It changes no state of a group that has ended, none that a newer library has written, and none that was lost.
//   - It does not send a request again in the same sync.
//
// So a failure is decided once, no budget is exceeded, and each member has at most one object for each attempt,
// whatever crashes and whichever answers get lost. If two processes run at the same time, or a creation takes effect
// late, an object of an earlier attempt may be created. The next sync deletes it, and its failure changes nothing.
//
// # Rules, steps, budgets
//
// A [Policy] is data. A [Rule] matches failures and has a list of steps. A [Step] has an action,
// and may charge budgets. The first step whose budgets all have a free unit is taken. If no step of
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
// A budget may be renewed: by a restart or suspension of the group, after a quiet time without a charge, or by a
// progress that the caller reports. With "renew: {withGroup: true}", the budget alone of the example allows two
// restarts of each Job before the group is restarted, and two after it; with "renew: {progress: 1000}" two for
// each 1000 training steps that it has stored. Nothing is renewed if the state has lost from when or where to
// count, if the clock was set back, by the time of a failure that has none or is in the future, or by a progress
// that falls or is not reported.
//
// The number of restarts has a bound if all steps that restart charge a budget that neither has a window nor is
// renewed by quiet or progress, and those that restart or suspend the group one that has no renew at all: then no
// more restarts are possible than these budgets have units, those with withGroup again after each restart or
// suspension of the group.
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
// A call of [Decide] decides about one failure. A caller without a Driver stores the state in one write that fails if
// another client has stored one, and only then acts; [MakePlan] says what follows. This follows from the state alone,
// so it may stop anywhere and be repeated by another process.
//
// If failures are not known at once but in several calls, each call decides without those to come:
//
//   - No order exceeds a budget, counts a failure twice, or leaves one open.
//   - The end is that of one call if the failures arrive in the order in which it decides about them.
//   - In any other order the end is the same unless an earlier decision changes a later one. It can do so
//     in two ways: it restarts the Job of the other failure, or suspends or ends the group, and the other
//     failure is then void; or both rules charge a budget of the group, or of the template of both.
//
// # A state that was lost
//
// A state that was lost, or restored from a backup, has forgotten what was charged, which members were left and
// that the group has ended. While an object of a later attempt exists, nothing is decided, and [Result.Lost] says so.
// There are two ways to go on:
//
//   - Add the difference of the attempts to the restarts of the member in [State.Members]. Its object stays.
//   - Delete the objects of later attempts. They are created again, for the attempt of the state.
//
// The state is JSON of at most [StateSize] bytes. It has the version of its format, so that during
// a rolling upgrade an old library refuses the state of a new one, instead of losing a part of it.
package group
