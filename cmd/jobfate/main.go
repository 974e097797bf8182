package main

import (
	"os"
	"runtime/debug"
	"time"
)

// softLimit keeps a run on the largest of inputs below a gibibyte. Below it,
// garbage is let grow: most of what is read is kept.
const softLimit = 800 << 20

func main() {
	if os.Getenv("GOMEMLIMIT") == "" && os.Getenv("GOGC") == "" {
		debug.SetMemoryLimit(softLimit)
		debug.SetGCPercent(300)
	}
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
