package apirules_test

import (
	"testing"
	"time"

	"github.com/jobfate/jobfate/cmd/internal/apirules"
	. "github.com/jobfate/jobfate/internal/podtest"
)

func TestNextRun(t *testing.T) {
	for _, c := range []struct{ reason, schedule, zone, after, want string }{
		{"no time zone", "0 3 * * *", "", "2026-01-01T12:00:00Z", "2026-01-02T03:00:00Z"},
		{"winter in Berlin", "0 3 * * *", "Europe/Berlin", "2026-03-28T01:00:00Z", "2026-03-28T02:00:00Z"},
		{"summer in Berlin", "0 3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"},
		{"the time of a run is over", "0 3 * * *", "", "2026-01-01T03:00:00Z", "2026-01-02T03:00:00Z"},
		{"an interval counts from the last run", "@every 90m", "", "2026-01-01T03:17:00Z", "2026-01-01T04:47:00Z"},
		{"a time zone in the schedule has precedence", "TZ=Asia/Tokyo 0 3 * * *", "Europe/Berlin", "2026-01-01T12:00:00Z",
			"2026-01-01T18:00:00Z"},
		{"no such day", "0 3 31 2 *", "", "2026-01-01T12:00:00Z", "0001-01-01T00:00:00Z"},
		{"no such time zone", "0 3 * * *", "Mars/Base", "2026-01-01T12:00:00Z", "0001-01-01T00:00:00Z"},
		{"no schedule", "daily", "", "2026-01-01T12:00:00Z", "0001-01-01T00:00:00Z"},
		{"the parser panics", "TZ=0", "", "2026-01-01T12:00:00Z", "0001-01-01T00:00:00Z"},
	} {
		after := Must(time.Parse(time.RFC3339, c.after))
		Same(t, c.reason, apirules.NextRun(c.schedule, c.zone, after).UTC().Format(time.RFC3339), c.want)
	}
}

// The controller puts the time zone before the schedule (formatSchedule). Hours that clocks skip or repeat do not differ.
func TestNextRun_asTheController(t *testing.T) {
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe"} {
		for _, schedule := range []string{"30 2 * * *", "*/20 * * * *", "0 1-3 * * 0", "@hourly", "@every 7h"} {
			prefixed := "TZ=" + zone + " " + schedule
			for at := time.Date(2026, 1, 1, 0, 5, 0, 0, time.UTC); at.Year() == 2026; at = at.Add(5 * time.Hour) {
				got, want := apirules.NextRun(schedule, zone, at), apirules.NextRun(prefixed, "", at)
				if want.IsZero() || !got.Equal(want) {
					t.Errorf("%s %s after %s: got %s, want %s", schedule, zone, at, got, want)
				}
			}
		}
	}
}
