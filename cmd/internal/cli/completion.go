package cli

import (
	"flag"
	"fmt"
	"strings"
)

const completionUsage = `Usage: jobfate completion bash|zsh|fish

Prints a script that completes commands, flags and their values:

  bash  source <(jobfate completion bash)           in ~/.bashrc
  zsh   source <(jobfate completion zsh)            in ~/.zshrc, after compinit
  fish  jobfate completion fish > ~/.config/fish/completions/jobfate.fish

Exit status: 0 printed, 2 usage.
`

// shells lists the shells with a completion script.
var shells = []struct {
	name   string
	script func([]commandWords) string
}{
	{"bash", bashCompletion},
	{"zsh", zshCompletion},
	{"fish", fishCompletion},
}

func completion(env Environment, args []string) error {
	args, err := parse(env, newFlags("completion"), completionUsage, args)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		for _, shell := range shells {
			if shell.name == args[0] {
				return env.print(shell.script(completions(env)))
			}
		}
	}
	return Misused("want the name of a shell: %s", alternatives(shellNames()))
}

func shellNames() (names []string) {
	for _, shell := range shells {
		names = append(names, shell.name)
	}
	return names
}

// commandWords holds the words of a command that a script completes.
type commandWords struct {
	command
	flags []flagWords
	words []string // values of its first argument; none: files
}

type flagWords struct {
	name    string // with its dashes
	summary string
	value   bool     // the flag takes a value
	values  []string // allowed values; none: a file or any text
}

// completions returns the words of all commands.
func completions(env Environment) (out []commandWords) {
	for _, c := range commands {
		one := commandWords{command: c}
		env.inspect = func(fs *flag.FlagSet) {
			fs.VisitAll(func(f *flag.Flag) { one.flags = append(one.flags, flagWordsOf(f)) })
		}
		_ = c.run(env, nil) // only calls inspect
		switch c.name {
		case "indexes":
			one.words = mapped(operations, func(op operation) string { return op.name })
		case "completion":
			one.words = shellNames()
		}
		out = append(out, one)
	}
	return out
}

func flagWordsOf(f *flag.Flag) flagWords {
	out := flagWords{name: "--" + f.Name}
	if len(f.Name) == 1 {
		out.name = "-" + f.Name
	}
	_, out.summary = flag.UnquoteUsage(f)
	out.summary, _, _ = strings.Cut(strings.ReplaceAll(out.summary, "\n", " "), "; ")
	is, _ := f.Value.(interface{ IsBoolFlag() bool })
	out.value = is == nil || !is.IsBoolFlag()
	if c, ok := f.Value.(choice); ok {
		out.values = c.values
	}
	return out
}

// These replacers quote text within single quotes; the one for zsh also within brackets.
var (
	zshQuoted  = strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `'`, `'\''`)
	fishQuoted = strings.NewReplacer(`\`, `\\`, `'`, `\'`)
)

func bashCompletion(all []commandWords) string {
	var b strings.Builder
	names := strings.Join(mapped(all, func(c commandWords) string { return c.name }), " ")
	b.WriteString(`_jobfate() {
	local current=${COMP_WORDS[COMP_CWORD]} words=''
	if [ "$COMP_CWORD" -eq 1 ]; then
		COMPREPLY=($(compgen -W "` + names + ` help --version" -- "$current"))
		return
	fi
	case "${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD-1]}" in
`)
	for _, c := range all {
		for _, f := range c.flags {
			if len(f.values) > 0 {
				fmt.Fprintf(&b, "\t'%s %s') words='%s' ;;\n", c.name, f.name, strings.Join(f.values, " "))
			}
		}
	}
	b.WriteString("\t*)\n\t\tcase \"${COMP_WORDS[1]} $current\" in\n")
	for _, c := range all {
		if len(c.flags) > 0 {
			fmt.Fprintf(&b, "\t\t'%s -'*) words='%s' ;;\n", c.name,
				strings.Join(mapped(c.flags, func(f flagWords) string { return f.name }), " "))
		}
		if len(c.words) > 0 {
			fmt.Fprintf(&b, "\t\t'%s '*) [ \"$COMP_CWORD\" -ne 2 ] || words='%s' ;;\n", c.name,
				strings.Join(c.words, " "))
		}
	}
	b.WriteString(`		esac ;;
	esac
	if [ -n "$words" ]; then
		COMPREPLY=($(compgen -W "$words" -- "$current"))
	else
		COMPREPLY=($(compgen -f -- "$current"))
	fi
}
complete -o filenames -F _jobfate jobfate
`)
	return b.String()
}

func zshCompletion(all []commandWords) string {
	var b strings.Builder
	b.WriteString("#compdef jobfate\n_jobfate() {\n\tif (( CURRENT == 2 )); then\n\t\tlocal -a commands=(\n")
	for _, c := range all {
		fmt.Fprintf(&b, "\t\t\t'%s:%s'\n", c.name, zshQuoted.Replace(c.summary))
	}
	b.WriteString("\t\t\t'help:print the usage of a command'\n\t\t\t'--version:print the " +
		"version'\n\t\t)\n\t\t_describe command commands\n\t\treturn\n\tfi\n\tlocal " +
		"command=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n\tcase $command in\n")
	for _, c := range all {
		fmt.Fprintf(&b, "\t%s) _arguments", c.name)
		for _, f := range c.flags {
			name, value := f.name, ""
			if f.value { // in the next word, or after =
				name, value = f.name+"=", ":value:_files"
			}
			if len(f.values) > 0 {
				value = ":value:(" + strings.Join(f.values, " ") + ")"
			}
			fmt.Fprintf(&b, " \\\n\t\t'%s[%s]%s'", name, zshQuoted.Replace(f.summary), value)
		}
		if len(c.words) > 0 {
			fmt.Fprintf(&b, " \\\n\t\t'1:argument:(%s)'", strings.Join(c.words, " "))
		}
		b.WriteString(" \\\n\t\t'*:file:_files' ;;\n")
	}
	b.WriteString("\tesac\n}\ncompdef _jobfate jobfate\n")
	return b.String()
}

func fishCompletion(all []commandWords) string {
	var b strings.Builder
	b.WriteString("complete -c jobfate -n __fish_use_subcommand -l version -d 'print the version'\n" +
		"complete -c jobfate -n __fish_use_subcommand -f -a help -d 'print the usage of a command'\n")
	for _, c := range all {
		fmt.Fprintf(&b, "complete -c jobfate -n __fish_use_subcommand -f -a %s -d '%s'\n", c.name,
			fishQuoted.Replace(c.summary))
		seen := fmt.Sprintf("complete -c jobfate -n '__fish_seen_subcommand_from %s'", c.name)
		for _, f := range c.flags {
			kind, name := "-l", strings.TrimLeft(f.name, "-")
			if len(name) == 1 {
				kind = "-s"
			}
			fmt.Fprintf(&b, "%s %s %s -d '%s'", seen, kind, name, fishQuoted.Replace(f.summary))
			switch {
			case len(f.values) > 0:
				fmt.Fprintf(&b, " -x -a '%s'", strings.Join(f.values, " "))
			case f.value:
				b.WriteString(" -r")
			}
			b.WriteString("\n")
		}
		if len(c.words) > 0 {
			words := strings.Join(c.words, " ")
			fmt.Fprintf(&b, "complete -c jobfate -n '__fish_seen_subcommand_from %s; and not "+
				"__fish_seen_subcommand_from %s' -f -a '%s'\n", c.name, words, words)
		}
	}
	return b.String()
}
