package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

// The exit statuses that all commands share. Others stand with their command.
const (
	exitOK    = 0
	exitInput = 1 // the input cannot be read or decided on
	exitUsage = 2
	exitNo    = 3 // the answer is no

	exitInterrupted = 130 // as of a program that SIGINT ends
)

// Environment is all that a command has of the world.
type Environment struct {
	Name   string // of the program, as users call it
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	Clock  func() time.Time
	Typed  bool // the standard input is a terminal
	Shown  bool // the standard output is a terminal
	Told   bool // the standard error is a terminal
	// Catch lets the first Ctrl-C be asked for, until it is released.
	Catch func() (caught func() bool, release func())
	// maxInput is how much is read at most; when it is zero, the default.
	maxInput sizeLimit
	// inspect, if it is set, gets the flags of a command, which then does nothing.
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

// completion goes through the commands, and is one of them.
func init() {
	commands = []command{
		{"explain", "say what the Job controller does next for a Job, and why", explainFiles},
		{"validate", "say what the API server would refuse about a Job, an update or a status", validateFiles},
		{"simulate", "play a Job and a scenario in virtual time, to the end", simulateFiles},
		{"indexes", "count, compare and combine sets of completion indexes", indexes},
		{"completion", "print a script that completes commands and flags in a shell", completion},
	}
}

// usageError is an error that is answered with exitUsage.
type usageError struct{ error }

// Misused returns an error that is answered with the status of misuse.
func Misused(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// answer is no error, but an answer that the exit status tells.
type answer int

// Interrupted is the answer to Ctrl-C.
var Interrupted error = answer(exitInterrupted)

func (a answer) Error() string { return fmt.Sprintf("exit status %d", int(a)) }

// Run runs the command that the arguments name and returns the exit status.
// Nothing is written but through a safeWriter.
func Run(args []string, env Environment) int {
	env = env.Safe()
	if err := CheckArguments(args); err != nil {
		return env.Status(env.Name, err)
	}
	return env.dispatch(args)
}

// CheckArguments refuses arguments that a safeWriter might pass on unescaped.
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
		return env.Status(env.Name, env.print(Version(env.Name, "")))
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
	fmt.Fprintf(env.Stderr, "jobfate: there is no command %q\n\n%s", args[0], usage())
	return exitUsage
}

// Safe returns the environment with outputs that nothing reaches unescaped but the
// colours and the movements of the cursor that this package makes.
func (env Environment) Safe() Environment {
	env.Stdout, env.Stderr = safeWriter{env.Stdout}, safeWriter{env.Stderr}
	return env
}

// Status tells of an error of a command and returns the exit status for it.
func (env Environment) Status(command string, err error) int {
	var a answer
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.Is(err, syscall.EPIPE):
		return exitOK // the reader has seen enough
	case errors.As(err, &a):
		return int(a)
	}
	env.tell(command, err)
	if errors.As(err, &usageError{}) {
		fmt.Fprintf(env.Stderr, "run %s -h for usage\n", command)
		return exitUsage
	}
	return exitInput
}

// tell tells of an error, line by line.
func (env Environment) tell(command string, err error) {
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
