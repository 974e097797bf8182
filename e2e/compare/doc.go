// Package compare says where the ends of two runs of the same Job differ: its
// status and its pods.
//
// Left out is what differs between any two runs:
//
//   - UIDs, resource versions, generations, names, namespaces and managed
//     fields: the server gives them out anew. Where a text quotes the name of a
//     pod or namespace, what is random in it is replaced.
//   - times: what counts is whether there is one.
//   - the order of pods.
//   - the statuses of pods, but for phase, reason, exit codes and
//     DisruptionTarget: the kubelet writes them, not the Job controller.
//   - spec.managedBy, by which the two are told apart.
//
// All else must be equal: also labels, annotations, finalizers, owner references,
// the whole spec of each pod, and the order of conditions, with their messages.
package compare
