package cli

import (
	"embed"
	"flag"
	"slices"
	"strings"
	"text/template"
)

const completionUsage = `Usage: jobfate completion bash|zsh|fish

Prints a script that completes commands, flags and their values:

  bash  source <(jobfate completion bash)           in ~/.bashrc
  zsh   source <(jobfate completion zsh)            in ~/.zshrc, after compinit
  fish  jobfate completion fish > ~/.config/fish/completions/jobfate.fish

Exit status: 0 printed, 2 usage.
`

// shells lists the shells with a completion script, whose template has the name of the shell.
var shells = []string{"bash", "zsh", "fish"}

//go:embed scripts
var scriptFiles embed.FS

// The functions zsh and fish quote text within single quotes; the one for zsh also within brackets.
var scripts = template.Must(template.New("").Funcs(template.FuncMap{
	"join": func(words []string) string { return strings.Join(words, " ") },
	"trim": func(flag string) string { return strings.TrimLeft(flag, "-") },
	"zsh":  strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `'`, `'\''`).Replace,
	"fish": strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace,
}).ParseFS(scriptFiles, "scripts/*"))

func completion(env Environment, args []string) error {
	args, err := parse(env, newFlags("completion"), completionUsage, args)
	switch {
	case err != nil:
		return err
	case len(args) != 1 || !slices.Contains(shells, args[0]):
		return Misused("want the name of a shell: %s", alternatives(shells))
	}
	var b strings.Builder
	_ = scripts.ExecuteTemplate(&b, args[0], completions(env)) // cannot fail: a test prints each
	return env.print(b.String())
}

// commandWords holds the words of a command that a script completes.
type commandWords struct {
	Name, Summary string
	Flags         []flagWords
	Words         []string // values of its first argument; none: files
}

// FlagNames returns the names of the flags, with their dashes.
func (c commandWords) FlagNames() []string {
	return mapped(c.Flags, func(f flagWords) string { return f.Name })
}

type flagWords struct {
	Name    string // with its dashes
	Summary string
	Value   bool     // the flag takes a value
	Values  []string // allowed values; none: a file or any text
	Short   bool     // the flag is a letter
}

// completions returns the words of all commands.
func completions(env Environment) (out []commandWords) {
	for _, c := range commands {
		one := commandWords{Name: c.name, Summary: c.summary}
		env.inspect = func(fs *flag.FlagSet) {
			fs.VisitAll(func(f *flag.Flag) { one.Flags = append(one.Flags, flagWordsOf(f)) })
		}
		_ = c.run(env, nil) // only calls inspect
		switch c.name {
		case "indexes":
			one.Words = mapped(operations, func(op operation) string { return op.name })
		case "completion":
			one.Words = shells
		}
		out = append(out, one)
	}
	return out
}

func flagWordsOf(f *flag.Flag) flagWords {
	out := flagWords{Name: "--" + f.Name, Short: len(f.Name) == 1}
	if out.Short {
		out.Name = "-" + f.Name
	}
	_, out.Summary = flag.UnquoteUsage(f)
	out.Summary, _, _ = strings.Cut(strings.ReplaceAll(out.Summary, "\n", " "), "; ")
	is, _ := f.Value.(interface{ IsBoolFlag() bool })
	out.Value = is == nil || !is.IsBoolFlag()
	if c, ok := f.Value.(choice); ok {
		out.Values = c.values
	}
	return out
}
