package cli

import (
	"os"
	"os/signal"
	"time"
)

// Process returns the environment of this process, which users know by a name.
func Process(name string) Environment {
	return Environment{
		Name:   name,
		Stdin:  os.Stdin,
		Stdout: os.Stdout,
		Stderr: os.Stderr,
		Getenv: os.Getenv,
		Clock:  time.Now,
		Typed:  terminal(os.Stdin),
		Shown:  terminal(os.Stdout),
		Told:   terminal(os.Stderr),
		Catch:  catch,
	}
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
