package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"
)

// The exit statuses.
const (
	exitOK    = 0
	exitInput = 1 // the input cannot be read or decided on
	exitUsage = 2
)

// environment is all that a command has of the world.
type environment struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	now    time.Time
}

// command is a subcommand.
type command struct {
	name    string
	summary string
	run     func(env environment, args []string) error
}

var commands = []command{
	{"explain", "say what the Job controller does next for a Job, and why", explain},
}

// usageError is an error that is answered with exitUsage.
type usageError struct{ error }

func misused(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// run runs the command that the arguments name and returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer, now time.Time) int {
	env := environment{stdin: stdin, stdout: stdout, stderr: stderr, now: now}
	if len(args) == 0 {
		fmt.Fprint(stderr, usage())
		return exitUsage
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		return env.status("", env.print(usage()))
	}
	for _, c := range commands {
		if c.name == args[0] {
			return env.status(" "+c.name, c.run(env, args[1:]))
		}
	}
	fmt.Fprintf(stderr, "jobfate: there is no command %q\n\n%s", args[0], usage())
	return exitUsage
}

// status tells of an error and returns the exit status for it.
func (env environment) status(command string, err error) int {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.Is(err, syscall.EPIPE):
		return exitOK // the reader has seen enough
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		fmt.Fprintf(env.stderr, "jobfate%s: %s\n", command, line)
	}
	if errors.As(err, &usageError{}) {
		fmt.Fprintf(env.stderr, "jobfate%s -h tells of the usage\n", command)
		return exitUsage
	}
	return exitInput
}

// print writes everything at once.
func (env environment) print(text string) error {
	_, err := io.WriteString(env.stdout, text)
	return err
}

func usage() string {
	var b strings.Builder
	b.WriteString("Usage: jobfate COMMAND [flags] [file ...]\n\nCommands:\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "  %-10s %s\n", c.name, c.summary)
	}
	b.WriteString("\njobfate COMMAND -h tells of the flags of a command.\n")
	return b.String()
}
