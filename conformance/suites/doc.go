// The command suites runs Kubernetes' own tests with jobfate in place of the built-in
// controller, and lists the results in docs/compatibility.md, test by test:
//
//	go run ./suites unit               runs the unit tests of the Job controller
//	go run ./suites integration        runs its integration tests
//	go run ./suites releases           compares jobfate with other releases of Kubernetes
//	go run ./suites -write unit        puts the results into docs/compatibility.md
//	go run ./suites -times 3 unit      runs the tests three times
//
// Without -write, results that differ from the listed ones are an error.
//
// The tests are read from the module cache when they run. An overlay makes them a package of
// this module that does not exist on disk. It consists of the sources of Kubernetes' package
// with some functions renamed, and of our functions of these names, from the folder with the
// name of the suite. No line of Kubernetes is copied into this repository.
//
// In unit, the most important of these functions is (*Controller).syncJob. Ours uses the
// caches and stores of the controller, lets jobfate decide, and carries the decision out with
// the pod control and the status handler of the controller. A controller that calls it
// prints a mark, so that the list holds only tests that depend on jobfate.
//
// In integration, the package that the tests start controllers with is replaced by the
// controller of the examples. The tests start etcd, which is built as e2e/go.mod says,
// and run the API server themselves. Their requirements are put together from those of
// this module, of e2e and of the example, in a go.mod that is made for the run.
//
// In releases, the unit tests, the random decisions of the package sync and the random
// statuses of the package validation run once for each release, each with a go.mod that
// is made for the run. Files of this module that only fit 1.36 are replaced by the same
// overlay.
package main
