package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// A pass is one run of this program: the file with its rows, its start, and the median of each row.
type pass struct {
	file, start string
	medians     map[string]float64
}

// readPasses reads the passes that appended their rows to a file, and the names of the rows.
func readPasses(file string) (passes []pass, names []string, _ error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	for _, part := range strings.Split(string(text), "start ")[1:] {
		start, lines, _ := strings.Cut(part, "\n")
		s, samples := pass{file, start, map[string]float64{}}, map[string][]float64{}
		for line := range strings.Lines(lines) {
			fields := strings.Fields(line) // the name, 1, the sample and its unit
			if len(fields) != 4 {
				return nil, nil, fmt.Errorf("%s: not a sample: %q", file, line)
			}
			name := strings.TrimPrefix(fields[0], "Benchmark/")
			x, err := strconv.ParseFloat(fields[2], 64)
			if err != nil || x <= 0 {
				return nil, nil, fmt.Errorf("%s: not a positive number: %q", file, line)
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			samples[name] = append(samples[name], x)
			s.medians[name] = middle(samples[name])
		}
		passes = append(passes, s)
	}
	return passes, names, nil
}

var errSlower = errors.New("a row is slower by more than its noise")

// compare prints the rows that have moved from one file to another by more than their noise, and
// returns errSlower if one is slower.
func compare(w io.Writer, base, change string) error {
	passes, names, err := readPasses(base)
	if err != nil {
		return err
	}
	others, _, err := readPasses(change)
	if err != nil {
		return err
	}
	passes = append(passes, others...)
	slices.SortFunc(passes, func(a, b pass) int { return strings.Compare(a.start, b.start) })
	var noises []float64
	slower := false
	for _, name := range names {
		move, noise, err := moveOf(name, passes, base)
		if err != nil {
			return err
		}
		noises = append(noises, noise)
		if math.Abs(move) > noise {
			fmt.Fprintf(w, "%s, noise %s: %q\n", percent(move), percent(noise), name)
		}
		slower = slower || move > noise
	}
	if len(names) == 0 {
		return errors.New("there are no rows")
	}
	fmt.Fprintf(w, "%d rows, noise %s (median) to %s.\n", len(names), percent(middle(noises)),
		percent(slices.Max(noises)))
	if slower {
		return errSlower
	}
	return nil
}

// moveOf returns how a row has moved, and its noise, as logarithms. Two consecutive passes are a pair.
// The move is the median over the pairs of different files. The pairs of the same file compare a program
// with itself, and nine of ten of their moves do not exceed the noise. So passes should take turns:
// base, change, change, base, base, change, and so on. By chance one row of twelve moves after two such
// rounds, and fewer than three of a thousand after ten.
func moveOf(row string, passes []pass, base string) (move, noise float64, _ error) {
	var between, within []float64
	for i, b := range passes[1:] {
		a := passes[i]
		if a.medians[row] == 0 || b.medians[row] == 0 {
			return 0, 0, fmt.Errorf("not every pass has the row %q", row)
		}
		x := math.Log(b.medians[row] / a.medians[row])
		switch {
		case a.file == b.file:
			within = append(within, math.Abs(x))
		case b.file == base:
			between = append(between, -x)
		default:
			between = append(between, x)
		}
	}
	if len(between) == 0 || len(within) == 0 {
		return 0, 0, errors.New("there must be pairs of passes of both files, and of the same file")
	}
	slices.Sort(within)
	return middle(between), within[(9*len(within)-1)/10], nil
}

func percent(move float64) string { return fmt.Sprintf("%+.1f %%", 100*math.Expm1(move)) }
