// Command bench measures jobfate beside the code of the real Job controller,
// beside general bitmaps, and beside the floor: the least that any decision must
// do, which is to read each pod once. It prints one table; with -svg it draws
// how the cost grows with the pods instead.
//
//	go run . [-runs 11] [-rows regexp] [-svg file]
//
// The sides of a row take turns, and a figure is the median of its runs. Only
// ratios mean something: each is the median of the ratios of the runs that
// followed each other. The time is that for which the thread has a processor, so
// that other work on the machine matters less. What the garbage collector and
// other goroutines do beside it does not count, which is to the good of the side
// that allocates more and starts more of them: the real controller.
package main
