package main

import (
	"os"
	"os/signal"
	"runtime/debug"
	"time"
)

// Most of what is read is kept, so garbage may grow more than by default, up to a
// limit from which on memory matters more than time.
const (
	softLimit      = 3 << 30
	garbagePercent = 150
)

func main() {
	if os.Getenv("GOMEMLIMIT") == "" && os.Getenv("GOGC") == "" {
		debug.SetMemoryLimit(softLimit)
		debug.SetGCPercent(garbagePercent)
	}
	os.Exit(run(os.Args[1:], environment{
		stdin:  os.Stdin,
		stdout: os.Stdout,
		stderr: os.Stderr,
		getenv: os.Getenv,
		now:    time.Now(),
		clock:  time.Now,
		typed:  terminal(os.Stdin),
		shown:  terminal(os.Stdout),
		told:   terminal(os.Stderr),
		catch:  catch,
	}))
}

// catch keeps the first Ctrl-C from ending the program, so that it can end by
// itself. The second one ends it.
func catch() (caught func() bool, release func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	was := false
	return func() bool {
		select {
		case <-signals:
			was = true
			signal.Stop(signals)
		default:
		}
		return was
	}, func() { signal.Stop(signals) }
}

// terminal reports whether a file is a terminal, or another device that passes
// characters on.
func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
