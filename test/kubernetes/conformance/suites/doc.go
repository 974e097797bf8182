// The command suites runs Kubernetes' own tests with jobfate in place of the built-in
// controller, and lists the results in docs/compatibility.md, test by test:
//
//	suites unit               runs the unit tests of the Job controller
//	suites integration        runs its integration tests
//	suites releases           compares jobfate with the releases of docs/compatibility.md
//	suites releases 1.36.5    compares jobfate with one release, which may be any
//	suites integration 1.36.5 runs the integration tests of a release
//	suites test 1.36.5 ./conformance/sync
//	                          runs tests of this module with a release
//	suites -write unit        writes the results into docs/compatibility.md
//	suites -times 3 unit      runs the tests three times
//
// It runs with go -C test/kubernetes run ./conformance/suites.
// Without -write, it is an error if the results differ from the listed ones.
//
// The go command reads the tests from the module cache. An overlay makes them a package of this
// module that does not exist on disk: the sources of Kubernetes with some functions renamed, and
// our replacements for these functions, from the folder with the name of the suite. This repository
// contains no copy of Kubernetes' code.
//
// In unit, the most important of these functions is (*Controller).syncJob. Ours uses the
// caches and stores of the controller, lets jobfate decide, and carries the decision out with
// the pod control and the status handler of the controller. It prints a mark, so that the list
// contains only tests that depend on jobfate.
//
// In integration, the module controller replaces the package from which the tests start the
// built-in controller. The tests run the API server in their own process, and start etcd, which is
// a tool of this module.
//
// In releases, the unit tests, the random decisions of the package sync, the random statuses, creations and
// updates of the package validation, and from 1.36 on the lives of the packages sync and lifetime run once for
// each release, with a temporary go.mod of what their packages import. The overlay replaces files of this module
// that compile only with the pinned release, and adds tests of gates that it no longer has.
package main
