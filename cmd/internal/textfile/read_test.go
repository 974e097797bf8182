package textfile

import (
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// encoded returns a text as UTF-16 with a byte order mark.
func encoded(text string, order binary.AppendByteOrder) (out string) {
	var b []byte
	for _, unit := range utf16.Encode([]rune("\uFEFF" + text)) {
		b = order.AppendUint16(b, unit)
	}
	return string(b)
}

// TestRead writes random texts in each encoding, with each kind of line end, and reads them back
// in random pieces. Texts may begin with further marks, which are characters.
func TestRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := strings.Join(rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("a: ü\U0001F600\u2028\uFEFF")), 0, 2000, -1), 1, 9).Draw(t, "lines"), "\n")
		input := strings.ReplaceAll(want, "\n", rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "line end"))
		switch rapid.SampledFrom([]string{"UTF-8", "UTF-8 with a mark", "UTF-16, little-endian", "UTF-16, big-endian"}).Draw(t, "encoding") {
		case "UTF-8":
			want = strings.TrimPrefix(want, "\uFEFF") // it is the mark
		case "UTF-8 with a mark":
			input = "\uFEFF" + input
		case "UTF-16, little-endian":
			input = encoded(input, binary.LittleEndian)
		case "UTF-16, big-endian":
			input = encoded(input, binary.BigEndian)
		}
		var r io.Reader = strings.NewReader(input)
		if rapid.Bool().Draw(t, "in pieces") {
			r = iotest.HalfReader(r)
		}
		got, err := Read(r, rapid.SampledFrom([]int{0, len(input), 5}).Draw(t, "size"))
		if string(got) != want || err != nil {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	})
}

// The beginning, which is read first, may end within a character.
func TestRead_cutCharacter(t *testing.T) {
	for n := range 4 {
		want := strings.Repeat("#", 2044+n) + "\U0001F600"
		if got, err := Read(strings.NewReader(encoded(want, binary.LittleEndian)), 0); string(got) != want || err != nil {
			t.Errorf("after %d characters: got %q, %v, want the pair", 2044+n, got, err)
		}
	}
}

func TestRead_refused(t *testing.T) {
	const text = "kind: Job\n"
	little := encoded(text, binary.LittleEndian)
	for _, tc := range []struct{ name, input, want string }{
		{"binary", "\x7fELF\x02\x01\x01\x00\x00", errBinary.Error()},
		{"a NUL after the beginning", strings.Repeat(text, 1000) + "\x00", errBinary.Error()},
		{"a NUL in UTF-16", encoded(text+"\x00", binary.BigEndian), errBinary.Error()},
		{"UTF-16 without a mark", little[2:], errBinary.Error()},
		{"half a character of UTF-16", little + "a", "the UTF-16 text has half of a character; is the input truncated?"},
		{"half of a surrogate pair", little[:2] + "\x3d\xd8" + little[2:], "the UTF-16 text has half of a character; is the input truncated?"},
		{"text that is not UTF-8", "# ü\nü: \xfc\n", "line 2, column 4: this is not UTF-8 text"},
		{"a character of UTF-8 that ends too early", text + "\xc3", "line 2, column 1: this is not UTF-8 text"},
	} {
		if _, err := Read(strings.NewReader(tc.input), 0); err == nil || err.Error() != tc.want {
			t.Errorf("%s: got %v, want %s", tc.name, err, tc.want)
		}
	}
}

// zeros is a device that never ends.
type zeros struct{ read int }

func (z *zeros) Read(b []byte) (int, error) {
	clear(b)
	z.read += len(b)
	return len(b), nil
}

func TestRead_aDeviceThatNeverEnds(t *testing.T) {
	device := &zeros{}
	if _, err := Read(device, 0); !errors.Is(err, errBinary) || device.read > 1<<20 {
		t.Errorf("got %v after %d bytes", err, device.read)
	}
}

func TestRead_aReaderThatFails(t *testing.T) {
	wrong := errors.New("the disk is gone")
	for _, before := range []string{"", "kind: Job\n", strings.Repeat("kind: Job\n", 1000)} {
		if _, err := Read(io.MultiReader(strings.NewReader(before), iotest.ErrReader(wrong)), 0); !errors.Is(err, wrong) {
			t.Errorf("after %d bytes: got %v", len(before), err)
		}
	}
}
