// Package vectors is the format of the cases in the folder vectors, and runs them: it
// says what jobfate does about a case. The README there explains the fields.
package vectors
