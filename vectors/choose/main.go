// Choose removes vectors while the others still detect the same mistakes. A mistake is a mutant: a
// small change of the code that decides. A vector detects it if jobfate then differs from the
// vector.
//
//	go -C tools run ./mutate -switch FOLDER PACKAGE ...
//	go -C vectors run -overlay FOLDER/overlay.json ./choose -mutants FOLDER/names.txt -write
//
// The first command makes a copy of the packages that has all mutants, the second compiles it.
// Without -write the second only prints what the vectors detect.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/jobfate/jobfate/vectors/mutant"
)

// Of the cases that detect a mutant, few are kept, and as many calls of functions. Dialogues, which are long, are kept
// for the mutants that fewer cases and calls detect. No more than many cases or calls are considered, the shortest.
const few, many = 2, 20

func main() {
	names := flag.String("mutants", "", "the `file` with the names of the mutants")
	write := flag.Bool("write", false, "remove vectors from the files")
	missed := flag.Bool("missed", false, "name the mutants that no vector detects")
	flag.Parse()
	text, err := os.ReadFile(*names)
	check(err)
	mutants := strings.Split(strings.TrimSpace(string(text)), "\n")
	all := read()
	lists, detected := shownBy(all), 0
	for i, by := range detectedBy(all, len(mutants)) {
		if len(by[aCase])+len(by[aCall])+len(by[aDialogue]) > 0 {
			detected++
		} else if *missed {
			fmt.Println("missed:", mutants[i])
		}
		lists = append(lists, by[aCase], by[aCall])
		if len(by[aCase])+len(by[aCall]) < few {
			lists = append(lists, slices.Concat(by[:]...))
		}
	}
	fmt.Printf("%d vectors in %d bytes detect %d of %d mutants\n", len(all), sizeOf(all), detected, len(mutants))
	if !*write {
		return
	}
	kept := cover(all, lists)
	fmt.Printf("%d vectors in %d bytes are kept\n", len(kept), sizeOf(kept))
	for file, lines := range inFiles(kept) {
		check(os.WriteFile(file, []byte(strings.Join(lines, "")), 0o644))
	}
}

func sizeOf(all []*vector) (sum int) {
	for _, v := range all {
		sum += len(v.text)
	}
	return sum
}

// detectedBy returns the cases, calls and dialogues that detect each mutant, by their position. It
// runs a mutant only with the vectors that reach it.
func detectedBy(all []*vector, mutants int) [][kinds][]int {
	last, reachedBy := make([]int, mutants+1), make([][]int, mutants+1)
	for i, v := range all {
		mutant.Reached = func(n int) {
			v.effort++
			if last[n] != i+1 {
				last[n] = i + 1
				reachedBy[n] = append(reachedBy[n], i)
			}
		}
		if v.differs() {
			check(fmt.Errorf("jobfate without a mutant does not do what %s says: %s", v.file, v.text))
		}
	}
	mutant.Reached = nil
	found := make([][kinds][]int, mutants)
	for n := range found {
		by := &found[n]
		for _, i := range reachedBy[n+1] {
			kind := all[i].kind
			enough := len(by[kind]) == many || kind == aDialogue && len(by[aCase])+len(by[aCall]) >= few
			if !enough && all[i].detects(n+1) {
				by[kind] = append(by[kind], i)
			}
		}
	}
	for _, v := range all {
		if v.detects(0) {
			check(fmt.Errorf("a mutant has changed the input of %s", v.text))
		}
	}
	return found
}

// shownBy returns, for each feature, function, divergence and event, the first vector that shows it.
func shownBy(all []*vector) (by [][]int) {
	shown := map[string]bool{}
	for i, v := range all {
		for _, what := range v.shows {
			if !shown[what] {
				shown[what] = true
				by = append(by, []int{i})
			}
		}
	}
	return by
}

// cover returns vectors such that each list has few of them, or all that it has. It first takes
// those that are in most lists for their length, and then drops those that later ones have made
// superfluous, the longest first.
func cover(all []*vector, lists [][]int) (kept []*vector) {
	wants, in, gain := make([]int, len(lists)), make([][]int, len(all)), make([]int, len(all))
	for l, list := range lists {
		wants[l] = min(few, len(list))
		for _, i := range list {
			in[i] = append(in[i], l)
			gain[i]++
		}
	}
	chosen := make([]bool, len(all))
	for {
		best := -1
		for i := range all {
			if !chosen[i] && gain[i] > 0 && (best < 0 || gain[i]*len(all[best].text) > gain[best]*len(all[i].text)) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		chosen[best] = true
		for _, l := range in[best] {
			if wants[l]--; wants[l] == 0 {
				for _, i := range lists[l] {
					gain[i]--
				}
			}
		}
	}
	for i, v := range slices.Backward(all) {
		if chosen[i] && !slices.ContainsFunc(in[i], func(l int) bool { return wants[l] == 0 }) {
			chosen[i] = false
			for _, l := range in[i] {
				wants[l]++
			}
		} else if chosen[i] {
			kept = append(kept, v)
		}
	}
	return kept
}

// inFiles returns the lines of each file, in their order.
func inFiles(kept []*vector) map[string][]string {
	files := map[string][]string{}
	slices.SortFunc(kept, func(a, b *vector) int { return a.line - b.line })
	for _, v := range kept {
		files[v.file] = append(files[v.file], v.text)
	}
	return files
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "choose:", err)
		os.Exit(1)
	}
}
