package cli

import (
	"os"
	"os/signal"
	"time"
)

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
		Catch:          catch,
	}
}

// catch keeps the first Ctrl-C from ending the program, so that the program can print its
// results. The second Ctrl-C ends it.
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

// terminal reports whether a file is a terminal or another character device. The null device
// does not count: it is the standard input of many programs that run unattended.
func terminal(f *os.File) bool {
	info, err := f.Stat()
	null, _ := os.Stat(os.DevNull)
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && !os.SameFile(info, null)
}
