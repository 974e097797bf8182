package main

import (
	"flag"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/jobfate/jobfate/internal/cli"
)

// selection is which Jobs a command is about.
type selection struct {
	name     string // empty: all that the others select
	selector string
	all      bool // of all namespaces
}

func (s *selection) addFlags(fs *pflag.FlagSet) {
	fs.StringVarP(&s.selector, "selector", "l", "", "the label `selector` of the Jobs, as kubectl get takes it")
	fs.BoolVarP(&s.all, "all-namespaces", "A", false, "the Jobs of all namespaces")
}

// named takes the arguments of a command: a name, perhaps with the kind before it.
func (s *selection) named(args []string) error {
	if len(args) > 0 {
		s.name = args[0]
		if kind, name, ok := strings.Cut(s.name, "/"); ok {
			if kind != "job" && kind != "jobs" && kind != "job.batch" && kind != "jobs.batch" {
				return cli.Misused("%s is no Job; want NAME or job/NAME", args[0])
			}
			s.name = name
		}
		if s.name == "" || s.selector != "" || s.all {
			return cli.Misused("want either the name of a Job, or a selector or all namespaces")
		}
	}
	if _, err := labels.Parse(s.selector); err != nil {
		return cli.Misused("--selector: %v", err)
	}
	return nil
}

// command returns the commands. That without a name is explain.
func (p *program) command() *cobra.Command {
	root := p.explain()
	root.SetOut(p.env.Stdout)
	root.SetErr(p.env.Stderr)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.Misused("%w", err) })
	p.flags.AddFlags(root.PersistentFlags())
	root.AddCommand(p.simulate(), p.validate())
	p.complete(root)
	return root
}

func (p *program) explain() *cobra.Command {
	var s selection
	var watch bool
	x := &cli.Explain{Troubled: true}
	command := &cobra.Command{
		Use:         "kubectl-jobfate [NAME]",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: p.env.Name},
		Short:       "Say what the Job controller does next for a Job, and why",
		Long: `Says what the Job controller does next for a Job, and why; what the Job waits for, and
until when; and whether it can still succeed. The first line answers why there is no
pod, no further one, or none that makes progress.

Without a name it lists the Jobs of the namespace that need attention, the worst first.

Exit status: 0 decided, 1 the cluster cannot be read or not be decided on, 2 usage,
130 interrupted. With --exit-status also
  3  the Job waits: time, or the end of a pod, brings the next one
  4  the Job is held: suspended, without parallelism, or being deleted
  5  the Job cannot succeed: it has failed, fails, or can only fail
  6  the Job is stuck: what should have happened has not; the first line says what
     to do
and 0 when it runs well, or has succeeded; of several Jobs, that of the worst.`,
		Example: `  kubectl jobfate                     # Jobs that need attention
  kubectl jobfate -A                  # in all namespaces
  kubectl jobfate NAME                # one Job
  kubectl jobfate NAME -w             # until it has ended
  kubectl jobfate simulate NAME       # what becomes of it
  kubectl jobfate validate NAME -f job.yaml   # may this file replace it?`,
		Args:    misuse(cobra.MaximumNArgs(1)),
		Version: cli.Version(p.env.Name, version),
		RunE: func(c *cobra.Command, args []string) error {
			if err := s.named(args); err != nil {
				return err
			}
			switch {
			case watch && c.Flags().Changed("now"):
				return cli.Misused("want either --watch or --now")
			case watch:
				return p.watch(c.Context(), s, x)
			}
			in, err := p.read(c.Context(), s, withEvidence)
			if err != nil {
				return err
			}
			view, err := look(p.env, x, s.name, in)
			if err != nil {
				return err
			}
			return x.Print(p.env, view)
		},
	}
	command.SetVersionTemplate("{{.Version}}")
	command.Flags().Bool("version", false, "print the version") // that of cobra has kubectl's -v
	s.addFlags(command.Flags())
	command.Flags().BoolVarP(&watch, "watch", "w", false, "go on until the Job has ended: print anew when something changes, at most once a second")
	addFlags(command, func(fs *flag.FlagSet) { x.Flags(fs, p.env.Clock) })
	return command
}

// look explains what was read: one Job, or a list.
func look(env cli.Environment, x *cli.Explain, name string, in cli.Objects) (*cli.View, error) {
	if name == "" {
		return x.List(env, in)
	}
	return x.One(env, in)
}

func (p *program) simulate() *cobra.Command {
	s := cli.NewSimulate(p.env)
	command := &cobra.Command{
		Use:   "simulate NAME",
		Short: "Play a Job in virtual time, from how it stands now",
		Long: `Plays a Job in virtual time, from how it and its pods stand now, on a simulated cluster,
until it has ended, and prints what becomes of its pods. A scenario says what the pods
do, and what happens to them and to the Job: jobfate simulate -h shows one. Without a
scenario every pod succeeds.

Exit status: 0 played, however it ended, 1 the Job cannot be read or played, or a bound is
reached, 2 usage, 130 interrupted.`,
		Example: `  kubectl jobfate simulate NAME --against-set spec.parallelism=50`,
		Args:    misuse(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			var one selection
			if err := one.named(args); err != nil {
				return err
			}
			in, err := p.read(c.Context(), one, withPods)
			if err != nil {
				return err
			}
			return s.Play(p.env, in.Input)
		},
	}
	addFlags(command, func(fs *flag.FlagSet) { s.Flags(fs, "svg") })
	return command
}

func (p *program) validate() *cobra.Command {
	var s selection
	var file string
	v := &cli.Validate{}
	command := &cobra.Command{
		Use:   "validate [NAME]",
		Short: "Say what the API server would refuse about Jobs, or about replacing one",
		Long: `Says what the API server would refuse about Jobs, and what it would warn about. With a file
it says that about replacing the Job of the cluster by the one in the file.

Exit status: 0 accepted, 1 the input cannot be read, 2 usage, 3 refused.`,
		Args: misuse(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if err := s.named(args); err != nil {
				return err
			}
			if file != "" && s.name == "" {
				return cli.Misused("want the name of the Job that the one in the file replaces")
			}
			in, err := p.read(c.Context(), s, onlyJobs)
			if err != nil {
				return err
			}
			if file == "" {
				return v.Print(p.env, nil, in.Input)
			}
			next, err := cli.ReadManifests(p.env, file)
			if err != nil {
				return err
			}
			return v.Print(p.env, in.Jobs[0], next)
		},
	}
	s.addFlags(command.Flags())
	command.Flags().StringVarP(&file, "filename", "f", "", "the `file` with a Job that is to replace the one of the cluster; - for the standard input")
	addFlags(command, func(fs *flag.FlagSet) { v.Flags(fs) })
	return command
}

// addFlags adds the flags of the command jobfate as kubectl's commands have them.
func addFlags(command *cobra.Command, add func(*flag.FlagSet)) {
	var fs flag.FlagSet
	add(&fs)
	fs.VisitAll(func(f *flag.Flag) {
		own := pflag.PFlagFromGoFlag(f)
		if own.Name == "o" {
			own.Name = "output"
		}
		command.Flags().AddFlag(own)
		if one, ok := f.Value.(interface{ Values() []string }); ok {
			_ = command.RegisterFlagCompletionFunc(own.Name, cobra.FixedCompletions(one.Values(), cobra.ShellCompDirectiveNoFileComp)) // the flag is there
		}
	})
}

// misuse makes what is wrong with arguments an error of usage.
func misuse(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return cli.Misused("%w", err)
		}
		return nil
	}
}
