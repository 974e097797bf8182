package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

// The exit statuses that all commands share. Commands may have further ones.
const (
	exitOK    = 0
	exitInput = 1 // the input cannot be read or decided on
	exitUsage = 2
	exitNo    = 3 // negative result

	exitInterrupted = 130 // as shells report a program that SIGINT ended
)

// Environment is everything that a command needs from the process.
type Environment struct {
	Name           string // the command line by which users run the program
	Stdin          io.Reader
	Stdout         io.Writer
	Stderr         io.Writer
	Getenv         func(string) string
	Clock          func() time.Time
	Quiet          bool       // show no progress
	StdinTerminal  bool       // the standard input is a terminal
	StdoutTerminal bool       // the standard output is a terminal
	StderrTerminal bool       // the standard error is a terminal
	Width          func() int // the width of the terminal that is the standard output; 0 if it is unknown
	// Catch catches the first Ctrl-C until release is called. caught reports whether it
	// has happened.
	Catch func() (caught func() bool, release func())
	// maxInput limits the input; zero is the default.
	maxInput sizeLimit
	// inspect, if set, is called with the flags of a command, which then does nothing.
	inspect func(*flag.FlagSet)
}

// command is a subcommand.
type command struct {
	name    string
	summary string
	run     func(env Environment, args []string) error
}

// commands are in the order in which the usage lists them.
var commands []command

// init breaks a cycle: completion is a command and reads the list.
func init() {
	commands = []command{
		{"explain", "say what the Job controller does next for a Job, and why", explainFiles},
		{"validate", "report what the API server would reject in a Job, an update or a status", validateFiles},
		{"simulate", "run a Job under a scenario in virtual time, until the Job ends", simulateFiles},
		{"indexes", "count, compare and combine sets of completion indexes", indexes},
		{"completion", "print a script that completes commands and flags in a shell", completion},
	}
}

// usageError is an error whose exit status is exitUsage.
type usageError struct{ error }

// Misused returns an error about wrong usage. Its exit status is 2.
func Misused(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// answer is an exit status that is a result rather than an error.
type answer int

// Interrupted is the exit status after Ctrl-C.
var Interrupted error = answer(exitInterrupted)

func (a answer) Error() string { return fmt.Sprintf("exit status %d", int(a)) }

// Run runs the command that the arguments name and returns the exit status. All output goes
// through a safeWriter.
func Run(args []string, env Environment) int {
	env = env.Safe()
	if err := CheckArguments(args); err != nil {
		return env.Status(env.Name, err)
	}
	return env.dispatch(args)
}

// CheckArguments rejects arguments that a safeWriter might not escape.
func CheckArguments(args []string) error {
	for i, arg := range args {
		if !utf8.ValidString(arg) {
			return Misused("argument %d, %q, is not UTF-8 text", i+1, arg)
		}
	}
	return nil
}

func (env Environment) dispatch(args []string) int {
	if len(args) == 0 {
		fmt.Fprint(env.Stderr, usage())
		return exitUsage
	}
	switch args[0] {
	case "version", "-version", "--version":
		return env.Status(env.Name, env.print(Version(env.Name)))
	case "help", "-h", "-help", "--help":
		if len(args) == 2 {
			return env.dispatch([]string{args[1], "-h"})
		}
		return env.Status(env.Name, env.print(usage()))
	}
	for _, c := range commands {
		if c.name == args[0] {
			return env.Status(env.Name+" "+c.name, c.run(env, args[1:]))
		}
	}
	names := mapped(commands, func(c command) string { return c.name })
	fmt.Fprintf(env.Stderr, "jobfate: unknown command %q%s\n\n%s", args[0], didYouMean(args[0], names), usage())
	return exitUsage
}

// Safe returns the environment with outputs that escape everything but the colours and the
// cursor movements of this package.
func (env Environment) Safe() Environment {
	env.Stdout, env.Stderr = safeWriter{env.Stdout}, safeWriter{env.Stderr}
	return env
}

// Status prints the error of a command, if it is one, and returns the exit status for it.
func (env Environment) Status(command string, err error) int {
	var a answer
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.Is(err, syscall.EPIPE):
		return exitOK // the reader has closed the pipe
	case errors.As(err, &a):
		return int(a)
	}
	env.printError(command, err)
	if errors.As(err, &usageError{}) {
		fmt.Fprintf(env.Stderr, "run %s -h for usage\n", command)
		return exitUsage
	}
	return exitInput
}

// printError prints an error, line by line.
func (env Environment) printError(command string, err error) {
	for _, line := range strings.Split(utf8Only(err.Error()), "\n") {
		fmt.Fprintf(env.Stderr, "%s: %s\n", command, line)
	}
}

// print writes everything at once.
func (env Environment) print(text string) error {
	_, err := io.WriteString(env.Stdout, text)
	return err
}

func usage() string {
	var b strings.Builder
	b.WriteString("Usage: jobfate COMMAND [flags] [file ...]\n\nCommands:\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "  %-10s %s\n", c.name, c.summary)
	}
	b.WriteString("\nRun jobfate COMMAND -h for the flags of a command, and jobfate --version for the version.\n")
	return b.String()
}

// Version returns the version line of a program.
func Version(program string) string {
	text := program + " (unknown)"
	if info, ok := debug.ReadBuildInfo(); ok {
		text = program + " " + info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				text += " " + s.Value
			}
		}
		text += " " + info.GoVersion
	}
	return text + ", decides as the Job controller of Kubernetes 1.37\n"
}
