// The command suites runs tests that the authors of Kubernetes wrote with jobfate, and
// lists the results in docs/compatibility.md, test by test:
//
//	go run ./suites unit               runs the unit tests of the Job controller
//	go run ./suites integration        runs its integration tests
//	go run ./suites releases           compares jobfate with other releases of Kubernetes
//	go run ./suites -write unit        puts the results into docs/compatibility.md
//	go run ./suites -times 3 unit      runs the tests three times
//
// Without -write, results that differ from the listed ones are an error.
//
// The tests are read from the module cache when they run. An overlay makes them a
// package of this module that exists nowhere on disk: the sources of Kubernetes' package
// with one function renamed, and beside them our function of that name, from the folder
// that the suite is named after. No line of Kubernetes is copied into this repository.
//
// In unit, (*Controller).syncJob is that function. It takes the controller's caches and
// stores, lets jobfate decide and carries the decision out with the controller's own pod
// control and status handler. Each test that calls it prints a mark, so that the list
// holds these tests and no others: those of single functions would pass without jobfate.
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
