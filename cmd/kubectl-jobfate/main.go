package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // the authentication plugins of kubectl
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/jobfate/jobfate/cmd/internal/cli"
)

func main() {
	silence()
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer release()
	context.AfterFunc(ctx, release) // the second Ctrl-C ends the program at once
	p := &program{env: cli.Process("kubectl jobfate"), flags: genericclioptions.NewConfigFlags(true)}
	if out := int(os.Stdout.Fd()); term.IsTerminal(out) {
		p.size = func() (width, height int) { return sizeOf(out) }
	}
	os.Exit(p.run(ctx, os.Args[1:]))
}

// silence drops the logs of clients and the warnings of servers. They would appear unescaped, in the
// middle of the output.
func silence() {
	klog.SetLogger(klog.Logger{})
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
}

// sizeOf returns the size of a terminal, or 80 × 24 if it is unknown.
func sizeOf(terminal int) (width, height int) {
	width, height, err := term.GetSize(terminal)
	if err != nil || width == 0 || height == 0 {
		return 80, 24
	}
	return width, height
}

// program holds what the commands share.
type program struct {
	env   cli.Environment
	flags *genericclioptions.ConfigFlags
	size  func() (width, height int) // the size of the terminal; nil if there is none
}

// run runs the command that the arguments name and returns the exit status.
func (p *program) run(ctx context.Context, args []string) int {
	p.env = p.env.Safe()
	if err := cli.CheckArguments(args); err != nil {
		return p.env.Status(p.env.Name, err)
	}
	root := p.command()
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	if err != nil && ctx.Err() != nil {
		err = cli.Interrupted
	}
	return p.env.Status(command.CommandPath(), err)
}
