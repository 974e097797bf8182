package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// TestPictures: what is committed is what is drawn, and it is well-formed.
func TestPictures(t *testing.T) {
	for name, draw := range pictures {
		want := draw()
		got, err := os.ReadFile(file("../..", name))
		if err != nil || string(got) != want {
			t.Errorf("docs/pictures/%s.svg is not what is drawn (%v): run go -C tools run ./pictures ..", name, err)
		}
		for d := xml.NewDecoder(strings.NewReader(want)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
		}
	}
}
