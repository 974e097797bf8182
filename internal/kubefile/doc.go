// Package kubefile reads Jobs and their pods from what kubectl prints.
//
// The input is YAML or JSON: single objects, lists (List, JobList, PodList), or
// several documents one after the other, in one file or in many, in any order.
// Events and Nodes are kept, objects of other kinds are counted. Pods of other
// Jobs are kept too: to find out which Job owns a pod takes more than reading.
//
// kubectl's own parser converts YAML to JSON, but no key may occur twice. Another one,
// which knows lines and columns, is asked only where a field stands.
//
// Half of a snapshot is refused, because a decision on it is wrong without looking
// so: text that was cut short, pasted together or edited by mistake is not read in
// part. The error says where: file, document, item, field.
//
// The package knows nothing of decisions: only files, and the objects in them.
package kubefile
