// Package fuzztest makes a fuzz target from a property of rapid, so that the property is written once.
package fuzztest

import (
	"encoding/binary"
	"testing"
)

// simplest is the number of choices that a property can draw after the last byte of its input.
const simplest = 1 << 13

// Target wraps a fuzz target that rapid.MakeFuzz has made. Each byte of the input is one choice of
// rapid. After the last byte, every choice is the simplest one.
//
// rapid.MakeFuzz alone reads eight bytes for a choice, and skips an input that is too short.
// A snapshot of a Job needs some thousand bytes, and the fuzzer begins with a few: it would
// skip nearly all of its inputs.
func Target(run func(*testing.T, []byte)) func(*testing.T, []byte) {
	return func(t *testing.T, input []byte) {
		choices := make([]byte, 0, 8*(len(input)+simplest))
		for _, b := range input {
			choices = binary.LittleEndian.AppendUint64(choices, spread(b))
		}
		run(t, choices[:cap(choices)])
	}
}

// spread makes a choice from a byte: 0 remains 0, and the bits of all others look random. It is
// the finalizer of splitmix64.
func spread(b byte) uint64 {
	z := uint64(b) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
