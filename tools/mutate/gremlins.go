package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// swaps are the operators that gremlins puts in place of others, in pairs, by the names of
// its mutators.
var swaps = map[string]string{
	"ARITHMETIC_BASE":         "+ - - + * / / * % *",
	"CONDITIONALS_BOUNDARY":   ">= > > >= <= < < <=",
	"CONDITIONALS_NEGATION":   "== != != == >= < < >= > <= <= >",
	"INCREMENT_DECREMENT":     "++ -- -- ++",
	"INVERT_ASSIGNMENTS":      "+= -= -= += *= /= /= *= %= %=",
	"INVERT_BITWISE":          "& | | & ^ & &^ & << >> >> <<",
	"INVERT_BWASSIGN":         "&= |= |= &= ^= &= &^= &= <<= >>= >>= <<=",
	"INVERT_LOGICAL":          "&& || || &&",
	"INVERT_LOOPCTRL":         "break continue continue break",
	"INVERT_NEGATIVES":        "- +",
	"REMOVE_SELF_ASSIGNMENTS": "+= = -= = *= = /= = %= = &= = |= = ^= = &^= = <<= = >>= =",
}

// swap returns the operator that a mutator of gremlins puts in place of another.
func swap(mutator, was string) token.Token {
	pairs := strings.Fields(swaps[mutator])
	for i := 0; i < len(pairs); i += 2 {
		for becomes := token.ADD; becomes < token.VAR; becomes++ {
			if pairs[i] == was && pairs[i+1] == becomes.String() {
				return becomes
			}
		}
	}
	return token.ILLEGAL
}

//go:embed gremlins.yaml
var config []byte

// askGremlins returns the mutators that gremlins would apply, by file, line and column.
func (p *source) askGremlins() (map[string][]string, error) {
	yaml, report := filepath.Join(p.work, "gremlins.yaml"), filepath.Join(p.work, "gremlins.json")
	if err := os.WriteFile(yaml, config, 0o600); err != nil {
		return nil, err
	}
	program, err := command(".", "go", "tool", "-n", "gremlins")
	if err != nil {
		return nil, err
	}
	args := []string{"unleash", "--dry-run", "--config", yaml, "--output", report, p.Dir}
	if p.Dir == p.root {
		args = append(args, "--exclude-files", "/")
	}
	if _, err := command(p.root, strings.TrimSpace(program), args...); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(report)
	var found struct {
		Files []struct {
			Name      string `json:"file_name"`
			Mutations []struct {
				Type         string
				Line, Column int
			}
		}
	}
	err = errors.Join(err, json.Unmarshal(text, &found))
	out := map[string][]string{}
	for _, f := range found.Files {
		for _, m := range f.Mutations {
			at := fmt.Sprintf("%s:%d:%d", filepath.Base(f.Name), m.Line, m.Column)
			out[at] = append(out[at], m.Type)
		}
	}
	return out, err
}
