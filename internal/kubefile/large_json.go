package kubefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
)

// json reads a JSON document. Of a list the items are handed on one by one.
func (r *stream) json() error {
	at, l := r.at, &list{}
	var rest []byte
	err := r.members(&rest, nil, func(name []byte, out *[]byte) (bool, error) {
		if string(name) != "items" {
			return false, nil
		}
		if b, err := r.peek(); err != nil || b != '[' {
			return false, err
		}
		*out = append(*out, "[]"...)
		return true, r.elements(nil, func() error {
			l.items++
			at := r.at
			at.Item, at.line = l.items, r.line
			if pod := r.podInSight(); pod != nil {
				return r.add(podObject(pod, nil, at))
			}
			value, text, err := r.itemValue()
			if err != nil {
				return err
			}
			if at.text = text; text == nil {
				return r.pod(l, value, at)
			}
			return r.item(l, value, at)
		})
	})
	if err != nil {
		return r.located(err)
	}
	at.text = &text{bytes: rest, line: at.line}
	return r.end(l, rest, at)
}

// sight is how much of the text is in sight at least, unless it ends before. Few
// pods are longer.
const sight = 64 << 10

// podInSight reads a pod in the fast way if all of it has been read ahead. If it
// cannot, it returns nil and has moved nowhere.
func (r *stream) podInSight() *corev1.Pod {
	window, _ := r.in.Peek(r.in.Buffered())
	if len(window) < sight {
		window, _ = r.in.Peek(large)
	}
	pod, n := r.pods.read(window)
	r.line += bytes.Count(window[:n], []byte("\n"))
	_, _ = r.in.Discard(n)
	return pod
}

// located adds the place to an error of the text itself.
func (r *stream) located(err error) error {
	var syntax syntaxError
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: line %d: unexpected EOF", r.at, r.line)
	}
	if errors.As(err, &syntax) {
		return fmt.Errorf("%s: line %d: %w", r.at, r.line, err)
	}
	return err
}

// syntaxError is an error of the text.
type syntaxError string

func (e syntaxError) Error() string { return string(e) }

func unexpected(b byte, where string) error {
	return syntaxError(fmt.Sprintf("invalid character %q %s", b, where))
}

// itemValue reads an item. Of a pod it returns what is kept, valid until the
// next call; of anything else all, with its text.
func (r *stream) itemValue() (value []byte, t *text, err error) {
	line := r.line
	r.buffer = r.buffer[:0]
	if b, err := r.peek(); err != nil || b != '{' {
		err = errors.Join(err, r.value(&r.buffer, nil))
		return r.buffer, &text{line: line}, err
	}
	pod := false
	err = r.members(&r.buffer, nil, func(name []byte, out *[]byte) (bool, error) {
		sub, kept := keepOfPod.within(name)
		switch {
		case string(name) == "kind":
			start := len(*out)
			err := r.value(out, nil)
			pod = string((*out)[start:]) == `"Pod"`
			return true, err
		case !pod:
			return false, nil
		case kept:
			return true, r.value(out, sub)
		}
		*out = append(*out, "null"...)
		return true, r.value(nil, nil)
	})
	if err == nil && !pod {
		whole := bytes.Clone(r.buffer)
		return whole, &text{bytes: whole, line: line}, nil
	}
	return r.buffer, nil, err
}

// peek returns the next byte that is no space, and leaves it.
func (r *stream) peek() (byte, error) {
	for {
		window, err := r.in.Peek(max(1, r.in.Buffered()))
		if len(window) == 0 {
			return 0, err
		}
		for i, b := range window {
			switch b {
			case '\n':
				r.line++
			case ' ', '\t', '\r':
			default:
				_, err := r.in.Discard(i)
				return b, err
			}
		}
		_, _ = r.in.Discard(len(window))
	}
}

// members reads an object. Each member that field does not take is read whole.
// What is read goes to out, unless that is nil, with the ends of lines.
func (r *stream) members(out *[]byte, k keep, field func(name []byte, out *[]byte) (bool, error)) error {
	_, _ = r.in.Discard(1)
	put(out, '{')
	wrote := false
	for n := 0; ; n++ {
		b, err := r.lines(out)
		switch {
		case err != nil:
			return err
		case b == '}':
			_, _ = r.in.Discard(1)
			put(out, '}')
			return nil
		case n > 0 && b != ',':
			return unexpected(b, "after object key:value pair")
		case n > 0:
			_, _ = r.in.Discard(1)
			if b, err = r.lines(out); err != nil {
				return err
			}
		}
		if b != '"' {
			return unexpected(b, "looking for the beginning of an object key")
		}
		if err := r.member(out, k, field, &wrote); err != nil {
			return err
		}
	}
}

// lines is peek, with the ends of the lines that are passed over put to out.
func (r *stream) lines(out *[]byte) (byte, error) {
	before := r.line
	b, err := r.peek()
	for ; out != nil && before < r.line; before++ {
		*out = append(*out, '\n')
	}
	return b, err
}

func (r *stream) member(out *[]byte, k keep, field func([]byte, *[]byte) (bool, error), wrote *bool) error {
	var scratch [64]byte
	quoted := scratch[:0]
	if err := r.text(&quoted); err != nil {
		return err
	}
	b, err := r.lines(out)
	if err != nil {
		return err
	}
	if b != ':' {
		return unexpected(b, "after object key")
	}
	_, _ = r.in.Discard(1)
	if _, err := r.lines(out); err != nil {
		return err
	}
	name := quoted[1 : len(quoted)-1]
	sub, kept := k.within(name)
	if out == nil || !kept {
		return r.value(nil, nil)
	}
	if *wrote {
		*out = append(*out, ',')
	}
	*wrote = true
	*out = append(append(*out, quoted...), ':')
	if field != nil {
		if taken, err := field(name, out); taken || err != nil {
			return err
		}
	}
	return r.value(out, sub)
}

// elements reads an array and calls read for each of its elements.
func (r *stream) elements(out *[]byte, read func() error) error {
	_, _ = r.in.Discard(1)
	for n := 0; ; n++ {
		b, err := r.lines(out)
		switch {
		case err != nil:
			return err
		case b == ']':
			_, _ = r.in.Discard(1)
			return nil
		case n > 0 && b != ',':
			return unexpected(b, "after array element")
		case n > 0:
			_, _ = r.in.Discard(1)
			if _, err := r.lines(out); err != nil {
				return err
			}
		}
		if err := read(); err != nil {
			return err
		}
	}
}

// value reads a value. What is kept of it goes to out.
func (r *stream) value(out *[]byte, k keep) error {
	b, err := r.lines(out)
	switch {
	case err != nil:
		return err
	case out == nil && (b == '{' || b == '['):
		return r.skip()
	case b == '{':
		return r.members(out, k, nil)
	case b == '[':
		put(out, '[')
		first := true
		err := r.elements(out, func() error {
			if !first {
				put(out, ',')
			}
			first = false
			return r.value(out, k)
		})
		put(out, ']')
		return err
	case b == '"':
		return r.text(out)
	}
	return r.literal(out)
}

func put(out *[]byte, b byte) {
	if out != nil {
		*out = append(*out, b)
	}
}

// skip passes over an object or an array.
func (r *stream) skip() error {
	depth := 0
	for {
		window, err := r.in.Peek(max(1, r.in.Buffered()))
		if len(window) == 0 {
			return err
		}
		for i := 0; i < len(window); i++ {
			switch window[i] {
			case '\n':
				r.line++
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					_, err := r.in.Discard(i + 1)
					return err
				}
			case '"':
				if end := bytes.IndexByte(window[i+1:], '"'); end >= 0 && onOneLine(window[i+1:i+1+end]) {
					i += end + 1
					continue
				}
				_, _ = r.in.Discard(i)
				if err := r.text(nil); err != nil {
					return err
				}
				window, i = nil, 0
			}
		}
		_, _ = r.in.Discard(len(window))
	}
}

// onOneLine reports whether a text holds no escape, and no end of a line, which only
// a text that lacks its end does.
func onOneLine(text []byte) bool {
	return bytes.IndexByte(text, '\\') < 0 && bytes.IndexByte(text, '\n') < 0
}

// text reads a string, quotes included.
func (r *stream) text(out *[]byte) error {
	_, _ = r.in.Discard(1)
	put(out, '"')
	for escaped := false; ; {
		window, err := r.in.Peek(max(1, r.in.Buffered()))
		if len(window) == 0 {
			return err
		}
		end := -1
		for i, b := range window {
			if escaped {
				escaped = false
			} else if b == '\\' {
				escaped = true
			} else if b == '"' {
				end = i
				break
			} else if b == '\n' {
				return unexpected(b, "in string literal")
			}
		}
		if end >= 0 {
			window = window[:end+1]
		}
		if out != nil {
			*out = append(*out, window...)
		}
		_, err = r.in.Discard(len(window))
		if end >= 0 || err != nil {
			return err
		}
	}
}

// literal reads a number, true, false or null.
func (r *stream) literal(out *[]byte) error {
	for n := 0; ; n++ {
		b, err := r.in.ReadByte()
		switch {
		case err != nil:
			return err
		case b == '-' || b == '+' || b == '.' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z':
			put(out, b)
			continue
		case n == 0:
			return unexpected(b, "looking for the beginning of a value")
		}
		return r.in.UnreadByte()
	}
}
