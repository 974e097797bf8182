package live_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// failing is a testing.TB whose failure does not fail the real test.
type failing struct {
	testing.TB
	text string
}

func (f *failing) Fatalf(format string, args ...any) {
	f.text = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (f *failing) said(text string) bool { return strings.Contains(f.text, text) }
