// Package house says which packages of the main module decide.
package house

// Module is the path of the main module.
const Module = "github.com/jobfate/jobfate"

// Decision are the folders of the packages that decide, or keep what a decision
// needs: pure functions of their arguments. The dot is the root.
var Decision = []string{".", "indexset", "backoff", "failurepolicy", "tracking", "jobstatus", "validation", "internal/sidecar", "internal/keys", "internal/lifecycle", "internal/owner", "internal/census", "internal/decide", "internal/machine", "explain"}

// Import returns the import path of a folder of the main module.
func Import(dir string) string {
	if dir == "." {
		return Module
	}
	return Module + "/" + dir
}
