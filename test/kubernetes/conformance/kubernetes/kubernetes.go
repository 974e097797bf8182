// Package kubernetes says which release of Kubernetes the tests of this module compare.
package kubernetes

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"sync"
)

// version is the release of Kubernetes. The package suites sets it for a release other than that of
// go.mod, which this package reads otherwise.
var version string

var requirement = regexp.MustCompile(`(?m)^\tk8s\.io/kubernetes v(\S+)$`)

// Version returns the release of Kubernetes that the tests of this module compare, for example 1.37.2.
// They run in the folder of their package.
func Version() string {
	if version != "" {
		return version
	}
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		panic(err)
	}
	found := requirement.FindSubmatch(mod)
	if found == nil {
		panic("kubernetes: go.mod requires no release of Kubernetes")
	}
	version = string(found[1])
	return version
}

// Minor returns the minor version of the release: 37 for 1.37.2.
var Minor = sync.OnceValue(func() (minor int) {
	if _, err := fmt.Sscanf(Version(), "1.%d.", &minor); err != nil {
		panic(fmt.Sprintf("kubernetes: the release %s: %v", strconv.Quote(version), err))
	}
	return minor
})
