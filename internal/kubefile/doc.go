// Package kubefile reads Jobs and their pods from what kubectl prints.
//
// The input is YAML or JSON: single objects, lists (List, JobList, PodList), or several
// documents, in one file or in many, in any order. Events and Nodes are kept, and objects of
// other kinds are counted. Pods of other Jobs are kept as well, because ownership takes more
// than reading to find out.
//
// YAML is converted to JSON by kubectl's parser, except that duplicate keys are errors. A
// second parser finds the lines and columns of fields.
//
// Truncated or damaged input is rejected as a whole, because a decision about a part of the
// pods would be wrong without looking wrong. The error names the file, document, item and
// field.
//
// The package knows nothing of decisions: only files, and the objects in them.
package kubefile
