package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"github.com/jobfate/jobfate/cmd/internal/cli"
)

// command returns the root command, which explains Jobs, with its subcommands.
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
	var logs int
	x := &cli.Explain{Troubled: true}
	command := &cobra.Command{
		Use:         "kubectl-jobfate [NAME | KIND/NAME] ...",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: p.env.Name},
		Short:       "Say what the Job controller does next for a Job, and why",
		Long: `Says what the Job controller does next for a Job, and why; what the Job waits for, and
until when; and whether it can still succeed. The first line says why there is no pod,
no further pod, or no pod that makes progress.

Without a name it lists the Jobs and CronJobs of the namespace that need attention, the
worst first.

Exit status: 0 success, 1 the cluster cannot be read, or a Job is invalid, 2 wrong usage,
130 interrupted. With --exit-status also
` + cli.ExitStatuses + ` For several Jobs it is the status of the
worst.`,
		Example: `  kubectl jobfate                     # Jobs that need attention
  kubectl jobfate -A                  # in all namespaces
  kubectl jobfate NAME                # one Job
  kubectl jobfate NAME --logs         # with the end of the log of the container that failed
  kubectl jobfate cronjob/NAME        # what keeps a CronJob from starting Jobs, and how the last ones ended
  kubectl jobfate jobset/NAME         # the Jobs of a JobSet or a TrainJob
  kubectl jobfate NAME -w             # one Job, until it has ended
  kubectl jobfate simulate NAME       # how the Job would continue
  kubectl jobfate validate NAME -f job.yaml   # whether kubectl can apply this file`,
		Args:    cobra.ArbitraryArgs,
		Version: cli.Version(p.env.Name),
		RunE: func(c *cobra.Command, args []string) error {
			if err := s.named(args); err != nil {
				return err
			}
			x.Troubled = len(s.targets) == 0
			switch {
			case logs > 0 && (s.name == "" || watch):
				return cli.Misused("--logs is for one Job, without --watch")
			case watch && c.Flags().Changed("now"):
				return cli.Misused("want either --watch or --now")
			case watch:
				return p.watch(c.Context(), s, x)
			}
			in, err := p.read(c.Context(), s, withEvidence)
			if err != nil {
				return err
			}
			view, err := viewOf(p.env, x, s, in)
			if err != nil {
				return err
			}
			if logs > 0 {
				view.AddLog(p.log(c.Context(), in, view, int64(logs)))
			}
			return x.Print(p.env, view)
		},
	}
	command.SetVersionTemplate("{{.Version}}")
	command.Flags().Bool("version", false, "print the version") // cobra's own flag would take -v, which kubectl uses
	s.addFlags(command.Flags())
	command.Flags().BoolVarP(&watch, "watch", "w", false,
		"print again after each change, at most once a second, until the Job has ended")
	command.Flags().IntVar(&logs, "logs", 0, "also print the last `N` lines of the log of the container that failed")
	command.Flags().Lookup("logs").NoOptDefVal = "10"
	addFlags(command, func(fs *flag.FlagSet) { x.Flags(fs, p.env.Clock) })
	return command
}

// viewOf explains the objects that were read: one Job, one CronJob, or a list.
func viewOf(env cli.Environment, x *cli.Explain, s selection, in cli.Objects) (*cli.View, error) {
	switch {
	case s.name != "":
		return x.One(env, in)
	case s.cron != "":
		return x.CronJob(env, in)
	}
	return x.List(env, in)
}

func (p *program) simulate() *cobra.Command {
	s := cli.NewSimulate(p.env)
	command := &cobra.Command{
		Use:   "simulate NAME",
		Short: "Run a Job in virtual time, from its current state",
		Long: `Runs a Job in virtual time on a simulated cluster, from its current status and pods,
until it has ended, and prints what happens to its pods. A scenario describes what the
pods do, and what happens to them and to the Job: jobfate simulate -h shows one. Without
a scenario the first line says what is assumed.

Exit status: 0 simulated, whatever the result, 1 the Job cannot be read or simulated, or a
bound is exceeded, 2 wrong usage, 130 interrupted.`,
		Example: `  kubectl jobfate simulate NAME --against-set spec.parallelism=50`,
		Args:    misuse(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			var one selection
			if err := one.one(args); err != nil {
				return err
			}
			e := withPods
			if s.Assumes() {
				e = withEvidence
			}
			in, err := p.read(c.Context(), one, e)
			if err != nil {
				return err
			}
			for _, n := range in.AllNotes() {
				fmt.Fprintf(p.env.Stderr, "%s simulate: %s: %s\n", p.env.Name, n.Code, n.Text)
			}
			return s.Play(p.env, in.Input)
		},
	}
	addFlags(command, func(fs *flag.FlagSet) { s.Flags(fs, p.env.Clock, "svg") })
	command.Flags().BoolVar(&p.env.Quiet, "quiet", false, "show no progress on the standard error")
	return command
}

func (p *program) validate() *cobra.Command {
	var s selection
	var file string
	v := &cli.Validate{}
	command := &cobra.Command{
		Use:   "validate [NAME]",
		Short: "Report what the API server would reject in Jobs, or in an update of one",
		Long: `Reports what the API server would reject in Jobs, and its warnings. With a file it checks
the update of the Job in the cluster by the Job in the file, and prints the answers to
kubectl apply (without --server-side) and to kubectl replace.

Exit status: 0 accepted, 1 the input cannot be read, 2 wrong usage, 3 rejected. For an update
the answer to kubectl apply decides, or to the command that --by names.`,
		Args: misuse(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if err := s.one(args); err != nil {
				return err
			}
			if file != "" && s.name == "" {
				return cli.Misused("-f needs the name of the Job that the file updates")
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
	command.Flags().StringVarP(&file, "filename", "f", "",
		"the `file` with the Job that updates the one in the cluster; - is the standard input")
	addFlags(command, func(fs *flag.FlagSet) { v.Flags(fs) })
	return command
}

// addFlags adds flags of the command jobfate in the form of kubectl's flags.
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
			// cannot fail: the flag exists
			_ = command.RegisterFlagCompletionFunc(own.Name,
				cobra.FixedCompletions(one.Values(), cobra.ShellCompDirectiveNoFileComp))
		}
	})
}

// misuse turns errors about arguments into errors about usage.
func misuse(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return cli.Misused("%w", err)
		}
		return nil
	}
}

const (
	// mostNames is the maximum number of names to read, and patience how long a shell waits
	// for them.
	mostNames, patience = 500, 3 * time.Second
)

// complete completes the names of Jobs, namespaces and contexts.
func (p *program) complete(root *cobra.Command) {
	first := func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return p.offered(c.Context(), batchv1.SchemeGroupVersion.WithResource("jobs"), begun)
	}
	for _, c := range append(root.Commands(), root) {
		c.ValidArgsFunction = first
	}
	for flag, complete := range map[string]cobra.CompletionFunc{
		"namespace": func(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			return p.offered(c.Context(), namespaces, begun)
		},
		"context": func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			config, _ := p.flags.ToRawKubeConfigLoader().RawConfig() // an unreadable file has no contexts
			return slices.Sorted(maps.Keys(config.Contexts)), cobra.ShellCompDirectiveNoFileComp
		},
	} {
		_ = root.RegisterFlagCompletionFunc(flag, complete) // cannot fail: the flags exist
	}
}

var namespaces = corev1.SchemeGroupVersion.WithResource("namespaces")

// offered returns the names of objects that begin with a text. It returns no names if they
// cannot be read in time.
func (p *program) offered(ctx context.Context, resource schema.GroupVersionResource,
	begun string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	names, _ := p.names(ctx, resource)
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, begun) }),
		cobra.ShellCompDirectiveNoFileComp
}

func (p *program) names(ctx context.Context, resource schema.GroupVersionResource) (names []string, _ error) {
	c, err := p.connect(selection{all: resource == namespaces})
	if err != nil {
		return nil, err
	}
	client, err := metadata.NewForConfig(c.config)
	if err != nil {
		return nil, err
	}
	list, err := client.Resource(resource).Namespace(c.namespace).List(ctx, metav1.ListOptions{Limit: mostNames})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, nil
}
