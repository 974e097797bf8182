// Pictures draws the pictures of README.md and docs/concepts.md that show an idea
// and not a run: docs/pictures/NAME.svg. The others there are drawn by jobfate
// simulate.
//
//	go run ./pictures ROOT
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// pictures are all there are, by name.
var pictures = map[string]func() string{
	"protocol": protocol,
	"count":    count,
	"index":    index,
	"end":      end,

	"architecture": architecture,

	"replacement": replacement,
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: pictures ROOT")
		os.Exit(2)
	}
	for name, draw := range pictures {
		if err := os.WriteFile(file(os.Args[1], name), []byte(draw()), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func file(root, name string) string {
	return filepath.Join(root, "docs", "pictures", name+".svg")
}
