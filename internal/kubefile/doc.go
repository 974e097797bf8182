// Package kubefile reads a Job and its pods from what kubectl prints.
//
// The input is YAML or JSON: single objects, lists (List, JobList, PodList), or
// several documents one after the other, in one file or in many, in any order.
// It holds exactly one Job and any number of pods, and nothing else. Pods of
// other Jobs are let through: to tell whose a pod is takes more than reading.
//
// Input that has been cut short, pasted together or edited by mistake is refused
// rather than understood in part, because a decision on half of a snapshot is
// wrong without looking so. The error says where: file, document, item, field.
package kubefile
