package kubefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// yaml reads a YAML document. The items of a list in block style, as kubectl
// prints them, are handed on one by one; whatever else there is, is read whole.
func (r *stream) yaml() error {
	at, l := r.at, &list{}
	var rest []byte
	for {
		if head, _ := r.in.Peek(4); ends(head) {
			break
		}
		line, err := r.readLine()
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("%s: %w", at, err)
		}
		if err != nil {
			break
		}
		if string(bytes.TrimRight(line, " \r\n")) == "items:" {
			rest = append(rest, "items: []\n"...)
			if err := r.yamlItems(l); err != nil {
				return err
			}
			continue
		}
		rest = append(rest, line...)
	}
	documents, err := chunk{text: rest, line: at.line}.documents()
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	for _, d := range documents {
		at.text = d.text
		if l.items == 0 {
			err = eachIn(d.value, at, r.want, r.add)
		} else {
			err = r.end(l, d.value, at)
		}
		if err != nil {
			return err
		}
	}
	if len(documents) == 0 && l.items == 0 {
		r.at.Document-- // it was empty
	}
	return nil
}

// ends reports whether a line that begins so ends the document.
func ends(head []byte) bool {
	_, ok := afterSeparator(head)
	return ok
}

// yamlItems reads items: lines that begin with a dash, all equally indented, and
// what is indented more.
func (r *stream) yamlItems(l *list) error {
	indent := -1
	var item []byte
	flush := func(line int) error {
		if indent < 0 {
			return nil
		}
		at := r.at
		l.items++
		at.Item, at.line = l.items, line
		return r.yamlItem(l, item, at)
	}
	start := r.line
	for {
		head, _ := r.in.Peek(deepest)
		n := spaces(head)
		first := isDashed(head[n:])
		blank := len(head) > n && (head[n] == '\n' || head[n] == '#')
		if indent < 0 && blank {
			if err := r.skipLine(); err != nil {
				return fmt.Errorf("%s: %w", r.at, err)
			}
			continue
		}
		if len(head) == 0 || !blank && (n < indent || n == indent && !first || indent < 0 && !first) || ends(head) {
			return flush(start)
		}
		if first && (n == indent || indent < 0) {
			if err := flush(start); err != nil {
				return err
			}
			item, start, indent = item[:0], r.line, n
		}
		line, err := r.readLine()
		if err != nil {
			return fmt.Errorf("%s: %w", r.at, err)
		}
		from := len(item)
		item = append(item, line...)
		if first && n == indent {
			item[from+n] = ' ' // in place of the dash: the rest keeps its columns
		}
	}
}

// deepest is how far a line is looked at: no item is indented more.
const deepest = 200

// spaces counts those at the beginning.
func spaces(text []byte) int {
	for i, b := range text {
		if b != ' ' {
			return i
		}
	}
	return len(text)
}

// isDashed reports whether a line, from its first letter on, begins an item.
func isDashed(line []byte) bool {
	return len(line) > 0 && line[0] == '-' && (len(line) == 1 || line[1] == ' ' || line[1] == '\n' || line[1] == '\r')
}

// yamlItem hands an item on. A pod as kubectl prints it is read in the fast way;
// anything else goes through the YAML parser.
func (r *stream) yamlItem(l *list, item []byte, at Place) error {
	if value, ok := r.converter.pod(item); ok {
		if pod, _ := r.pods.read(value); pod != nil {
			return r.add(podObject(pod, nil, at))
		}
		return r.pod(l, value, at)
	}
	documents, err := chunk{text: item, line: at.line}.yaml()
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	value := []byte("null")
	for _, d := range documents {
		value = d.value
		if !bytes.Contains(item, []byte("kind: Pod")) {
			at.text = &text{bytes: bytes.Clone(item), line: at.line}
		}
	}
	return r.item(l, value, at)
}
