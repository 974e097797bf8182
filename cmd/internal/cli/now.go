package cli

import (
	"errors"
	"flag"
	"runtime/debug"
	"time"
)

// timeFormats lists the accepted formats of a time. A time without a zone is local.
var timeFormats = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05",
	"2006-01-02 15:04", time.DateOnly}

// parseTime parses a time, which may be relative to now. A relative time is truncated to
// seconds.
func parseTime(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && (text[0] == '-' || text[0] == '+') {
		return now.Add(d).Truncate(time.Second), nil
	}
	for _, layout := range timeFormats {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New("want a time, as in 2023-08-21T10:00:00Z or 2023-08-21 10:00, or -10m")
}

// nowFlag adds the flag that sets the present of a command.
func nowFlag(fs *flag.FlagSet, clock func() time.Time, what string, set func(time.Time)) {
	fs.Func("now", "the `time` of "+what+", as in 2023-08-21T10:00:00Z, 2023-08-21T10:00:00 (local time)\nor "+
		"-10m (ten minutes ago); by default, the present", func(text string) error {
		at, err := parseTime(text, clock())
		set(at)
		return err
	})
}

// Version returns the version line of a program.
func Version(program string) string {
	text := program + " (unknown)"
	if info, ok := debug.ReadBuildInfo(); ok {
		text = program + " " + info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				text += " " + s.Value
			}
		}
		text += " " + info.GoVersion
	}
	return text + ", decides as the Job controller of Kubernetes 1.37\n"
}
