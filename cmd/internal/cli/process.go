package cli

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"time"

	"golang.org/x/term"
)

// Most of the input stays in memory, so the heap may grow little beyond it. Above a limit the
// collector runs even more often, because memory then matters more than time.
const (
	softLimit      = 3 << 30
	garbagePercent = 60
)

// A simulation keeps little of the memory that it uses.
const simulationPercent = 800

// Main runs the command jobfate as this process.
func Main() {
	if os.Getenv("GOMEMLIMIT") == "" && os.Getenv("GOGC") == "" {
		debug.SetMemoryLimit(softLimit)
		debug.SetGCPercent(percent(os.Args))
	}
	os.Exit(Run(os.Args[1:], Process("jobfate")))
}

func percent(args []string) int {
	if len(args) > 1 && args[1] == "simulate" {
		return simulationPercent
	}
	return garbagePercent
}

// Process returns the environment of this process. The name is the one by which users run it.
func Process(name string) Environment {
	return Environment{
		Name:           name,
		Stdin:          os.Stdin,
		Stdout:         os.Stdout,
		Stderr:         os.Stderr,
		Getenv:         os.Getenv,
		Clock:          time.Now,
		StdinTerminal:  terminal(os.Stdin),
		StdoutTerminal: terminal(os.Stdout),
		StderrTerminal: terminal(os.Stderr),
		Width:          func() int { width, _, _ := term.GetSize(int(os.Stdout.Fd())); return width },
		Catch:          catch,
	}
}

// catch keeps the first Ctrl-C from ending the program, so that the program can print its
// results. The second Ctrl-C ends it.
func catch() (caught func() bool, release func()) {
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, release)
	return func() bool { return ctx.Err() != nil }, release
}

// terminal reports whether a file is a terminal or another character device. The null device
// does not count: it is the standard input of many programs that run unattended.
func terminal(f *os.File) bool {
	info, err := f.Stat()
	null, _ := os.Stat(os.DevNull)
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && !os.SameFile(info, null)
}
