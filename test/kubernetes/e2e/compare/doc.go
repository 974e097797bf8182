// Package compare lists the differences between the final states of two runs of the same Job: its
// status and its pods.
//
// It ignores differences that exist between any two runs:
//
//   - UIDs, resource versions, generations, names, namespaces and managed fields, which the
//     server assigns. The random parts of pod and namespace names in texts are replaced.
//   - Times: only whether a time is set is compared.
//   - The order of pods.
//   - The statuses of pods, except for phase, reason, exit codes and DisruptionTarget,
//     because the kubelet writes them.
//   - spec.managedBy, by which the two controllers are distinguished.
//
// Everything else must be equal, including labels, annotations, finalizers, owner
// references, the whole spec of each pod, and the order and messages of the conditions.
package compare
