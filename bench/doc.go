// Command bench measures jobfate beside the code of the real Job controller,
// beside general bitmaps, and beside the floor: the least that any decision must
// do, which is to read each pod once. It prints one table; with -svg it draws
// the curves of growth as well.
//
//	go run . [-runs 11] [-rows regexp] [-svg file]
//
// The sides of a row take turns, and a figure is the median of its runs. Only
// ratios mean something: each is the median of the ratios of the runs that
// followed each other.
package main
