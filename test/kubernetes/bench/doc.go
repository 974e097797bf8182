// Command bench compares the cost of jobfate with two others: the code of the real Job
// controller, and the floor, which is the cost of reading each pod once. It prints one
// table. With -svg it draws the cost against the number of pods instead.
//
//	go run . [-runs 11] [-rows regexp] [-scale full] [-data file] [-svg file]
//
// With -data it appends the samples of the rows to a file, for benchstat: .ci/compare.
//
// The sides of a row run in turns, and a figure is the median of its runs. Only the ratios
// are meaningful: each is the median of the ratios of consecutive runs. Times are the CPU
// times of one thread, so that other work on the machine matters less. The garbage collector
// and other goroutines are not included. That favors the real controller, which allocates
// more and starts more goroutines.
package main
