// The command suites runs tests that the authors of Kubernetes wrote on jobfate, and
// writes what comes out into docs/compatibility.md, test by test:
//
//	go run ./suites unit               runs the unit tests of the Job controller
//	go run ./suites integration        runs its integration tests
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
package main
