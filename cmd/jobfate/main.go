package main

import (
	"os"
	"time"
)

func main() {
	os.Exit(run(os.Args[1:], environment{
		stdin:  os.Stdin,
		stdout: os.Stdout,
		stderr: os.Stderr,
		getenv: os.Getenv,
		now:    time.Now(),
		typed:  terminal(os.Stdin),
		shown:  terminal(os.Stdout),
	}))
}

// terminal reports whether a file is a terminal, or another device that passes
// characters on.
func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
