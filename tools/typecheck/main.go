// Typecheck checks the types of packages, of their tests and of all that they import, from their source: what a
// build would find, in a tenth of the time.
package main

import (
	"log"
	"os"

	"golang.org/x/tools/go/packages"
)

func main() {
	log.SetFlags(0)
	loaded, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax, Tests: true}, os.Args[1:]...)
	if err != nil || len(loaded) == 0 {
		log.Fatalf("%d packages: %v", len(loaded), err)
	}
	if packages.PrintErrors(loaded) > 0 {
		os.Exit(1)
	}
}
