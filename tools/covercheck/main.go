// Covercheck reads coverage profiles and holds the packages that decide to a
// least share of covered statements.
//
//	go run ./covercheck [-min PERCENT] PROFILE ...
//	go run ./covercheck -list
//
// A statement is covered when one of the profiles says so. A package that no
// profile knows has failed. With -list it prints the folders of the packages, as
// arguments for go test in the main module.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jobfate/jobfate/tools/internal/house"
)

func main() {
	least := flag.Float64("min", 95, "the least `percentage` of covered statements of each package")
	list := flag.Bool("list", false, "print the folders of the packages")
	flag.Parse()
	if *list {
		for _, dir := range house.Decision {
			fmt.Println("./" + strings.TrimPrefix(dir, "."))
		}
		return
	}
	os.Exit(run(flag.Args(), *least, os.Stdout))
}

// run reads the profiles, prints a table and returns the exit status.
func run(profiles []string, least float64, out io.Writer) int {
	blocks := blocks{}
	for _, name := range profiles {
		if err := blocks.readFile(name); err != nil {
			fmt.Fprintln(out, "covercheck:", err)
			return 1
		}
	}
	status := 0
	fmt.Fprintf(out, "%-44s %10s %8s %8s\n", "package", "statements", "covered", "percent")
	for _, dir := range house.Decision {
		t := blocks.tally(house.Import(dir))
		verdict := ""
		if t.percent() < least {
			verdict, status = fmt.Sprintf("  below %g", least), 1
		}
		fmt.Fprintf(out, "%-44s %10d %8d %8.1f%s\n", house.Import(dir), t.statements, t.covered, t.percent(), verdict)
		for _, b := range t.missed {
			fmt.Fprintf(out, "  not covered: %s\n", b)
		}
	}
	return status
}
