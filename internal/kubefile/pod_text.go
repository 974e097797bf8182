package kubefile

import (
	"bytes"
	"encoding/json"
)

// expect gives up unless something holds.
func (r *podReader) expect(holds bool) { r.givenUp = r.givenUp || !holds }

// next moves on to the next byte that is no space, and returns it.
func (r *podReader) next() byte {
	for ; r.at < len(r.text) && !r.givenUp; r.at++ {
		switch b := r.text[r.at]; b {
		case ' ', '\n', '\t', '\r':
		default:
			return b
		}
	}
	r.givenUp = true
	return 0
}

// null reads a null, if there is one, which leaves a value as it is. It gives up
// when the value has been set before.
func (r *podReader) null(unset bool) bool {
	r.expect(unset)
	if r.next() != 'n' {
		return r.givenUp
	}
	r.literal("null")
	return true
}

func (r *podReader) literal(want string) {
	r.expect(bytes.HasPrefix(r.text[r.at:], []byte(want)))
	r.at += len(want)
}

// quoted reads a text and returns what stands between its quotes.
func (r *podReader) quoted() []byte {
	if r.next() != '"' {
		r.givenUp = true
		return nil
	}
	start := r.at + 1
	for i := start; i < len(r.text); i++ {
		switch b := r.text[i]; {
		case b == '"':
			r.at = i + 1
			return r.text[start:i]
		case b < ' ' || b > '~' || b == '\\':
			r.givenUp = true
			return nil
		}
	}
	r.givenUp = true
	return nil
}

// word returns a text, the same one for those that are alike.
func (r *podReader) word(text []byte) string {
	word, ok := r.words[string(text)]
	if !ok {
		word = string(text)
		if len(r.words) < mostWords {
			r.words[word] = word
		}
	}
	return word
}

// members reads an object. Its value has to be read for each name.
func (r *podReader) members(yield func([]byte) bool) {
	r.expect(r.next() == '{')
	for n := 0; !r.givenUp; n++ {
		r.at++
		if b := r.next(); n == 0 && b == '}' {
			break
		}
		name := r.quoted()
		r.expect(r.next() == ':')
		r.at++
		if r.givenUp || !yield(name) {
			return
		}
		if b := r.next(); b == '}' {
			break
		} else if b != ',' {
			r.givenUp = true
		}
	}
	r.at++
}

// elements reads an array, of which each element has to be read.
func (r *podReader) elements(yield func() bool) {
	r.expect(r.next() == '[')
	for n := 0; !r.givenUp; n++ {
		r.at++
		if b := r.next(); n == 0 && b == ']' {
			break
		}
		if r.givenUp || !yield() {
			return
		}
		if b := r.next(); b == ']' {
			break
		} else if b != ',' {
			r.givenUp = true
		}
	}
	r.at++
}

// skip passes over a value.
func (r *podReader) skip() {
	switch b := r.next(); b {
	case '"':
		r.skipText()
	case '{', '[':
		r.skipNested()
	default:
		start := r.at
		for r.at < len(r.text) && (isWord(r.text[r.at]) || bytes.IndexByte([]byte("+-."), r.text[r.at]) >= 0) {
			r.at++
		}
		r.expect(json.Valid(r.text[start:r.at])) // the ordinary decoder reads it
	}
}

// skipNested passes over an object or an array.
func (r *podReader) skipNested() {
	depth := 0
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				r.at++
				return
			}
		case '"':
			r.skipText()
			continue
		}
		r.at++
	}
	r.givenUp = true
}

// skipText passes over a text.
func (r *podReader) skipText() {
	for i := r.at + 1; i < len(r.text); i++ {
		end := bytes.IndexByte(r.text[i:], '"')
		if end < 0 {
			break
		}
		if bytes.IndexByte(r.text[i:i+end], '\n') >= 0 {
			break // the quote that ends it is missing
		}
		escape := bytes.IndexByte(r.text[i:i+end], '\\')
		if escape < 0 {
			r.at = i + end + 1
			return
		}
		i += escape + 1 // what is escaped, and passed over by the loop
	}
	r.givenUp, r.at = true, len(r.text)
}
