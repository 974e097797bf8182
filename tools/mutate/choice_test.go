package main

import (
	"strings"
	"testing"
)

const choices = `package sample

func count(list []int) int {
	n := len(list) - 1
	for i := range list {
		if i == 9 {
			break
		}
		n++
		n += i % 2
	}
	if list = list[n-1:]; n > 3 {
		return n * 5
	}
	return n
}
`

// The statement around a change holds both, and a variable chooses.
func TestChoice(t *testing.T) {
	p := parsed(t, choices)
	var all []*mutant
	for _, tc := range []struct {
		found finding
		want  string
	}{
		{finding{Type: "ARITHMETIC_BASE", Line: 4, Column: 17}, "n := len(list) - 1; if chosenMutant == 1 { n = len(list) + 1 }; "},
		{finding{Type: "INVERT_LOOPCTRL", Line: 7, Column: 4}, "if chosenMutant == 1 { continue } else { break }"},
		{finding{Type: "INCREMENT_DECREMENT", Line: 9, Column: 4}, "if chosenMutant == 1 { n-- } else { n++ }"},
		{finding{Type: "ARITHMETIC_BASE", Line: 10, Column: 10}, "if chosenMutant == 1 { n += i * 2 } else { n += i % 2 }"},
		{finding{Type: "INVERT_ASSIGNMENTS", Line: 10, Column: 5}, "if chosenMutant == 1 { n -= i % 2 } else { n += i % 2 }"},
		{finding{Type: "ARITHMETIC_BASE", Line: 13, Column: 12}, "if chosenMutant == 1 { return n / 5 } else { return n * 5 }"},
		{finding{Type: "ARITHMETIC_BASE", Line: 12, Column: 18}, ""}, // not in a list
	} {
		m, err := p.swapped("sample.go", tc.found)
		if err != nil {
			t.Fatal(err)
		}
		if m.choice, m.defines = p.choice(m.change); m.choice.file == nil {
			if tc.want != "" {
				t.Errorf("%q: no choice, want %q", m.was, tc.want)
			}
			continue
		}
		if got := chosen([]*mutant{m})[0].text; got != tc.want {
			t.Errorf("%q: got %q, want %q", m.was, got, tc.want)
		}
		all = append(all, m)
	}
	rounds, single := inRounds(all)
	if len(rounds) != 1 || len(single) != 0 {
		t.Fatalf("%d rounds and %d single, want one round", len(rounds), len(single))
	}
	text := p.chosen(rounds[0])["sample.go"]
	if want := "if chosenMutant == 4 { n += i * 2 } else if chosenMutant == 5 { n -= i % 2 } else { n += i % 2 }"; !strings.Contains(text, want) {
		t.Errorf("the file lacks\n%s\nin\n%s", want, text)
	}
	if err := p.check(p.files[0], text+"\nvar chosenMutant int\n"); err != nil {
		t.Errorf("does not compile: %v\n%s", err, text)
	}
}

// A process that ends early has met a mutant that it could not judge.
func TestReadVerdicts(t *testing.T) {
	output := "--- noise\n\nmutant 3 0\n\nmutant 5 1\npanic: noise\nmutant 8 late\n"
	for _, tc := range []struct {
		numbers string
		want    []verdict
	}{
		{"3,5,8", []verdict{survived, killed, timedOut}},
		{"3,5,7", []verdict{survived, killed}},
		{"3", []verdict{survived}},
		{"4", nil},
	} {
		got := readVerdicts(output, strings.Split(tc.numbers, ","))
		if len(got) != len(tc.want) {
			t.Errorf("%s: got %v, want %v", tc.numbers, got, tc.want)
			continue
		}
		for i := range got {
			if got[i] != tc.want[i] {
				t.Errorf("%s: got %v, want %v", tc.numbers, got, tc.want)
			}
		}
	}
}
