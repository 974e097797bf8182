// Package kubefile reads Jobs and their pods from what kubectl prints.
//
// The input is YAML or JSON: single objects, lists (List, JobList, PodList), or
// several documents one after the other, in one file or in many, in any order.
// Events and Nodes are kept, objects of other kinds are counted. Pods of other
// Jobs are kept too: to find out which Job owns a pod takes more than reading.
//
// The parsers are those of kubectl: YAML 1.1 in which no key may occur twice, and
// JSON whose keys are case-sensitive. A third one, which knows lines and columns,
// is asked only where a field stands that an error names.
//
// Input that has been cut short, pasted together or edited by mistake is refused
// rather than understood in part, because a decision on half of a snapshot is
// wrong without looking so. The error says where: file, document, item, field.
package kubefile
