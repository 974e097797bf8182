package apirules

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // the API server knows the same time zones on every machine

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// longestName is the limit for the name of a CronJob: the controller appends 11 characters to name a Job.
const longestName = 52

// CronJob returns what the API server would reject in a new CronJob, outside the template of its Jobs. The
// CronJob must have a namespace.
func CronJob(c *batchv1.CronJob) field.ErrorList {
	metadata := field.NewPath("metadata")
	errs := apivalidation.ValidateObjectMeta(&c.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, metadata)
	if len(c.Name) > longestName {
		errs = append(errs, field.Invalid(metadata.Child("name"), c.Name, "must be no more than 52 characters"))
	}
	return append(errs, cronJobSpec(&c.Spec, nil)...)
}

// CronJobUpdate returns what the API server would reject when c replaces old, outside the template of
// its Jobs. All of the spec may change. An update may keep what a new CronJob may not have: a long
// name, a time zone in the schedule, and an unknown time zone.
func CronJobUpdate(c, old *batchv1.CronJob) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	return append(errs, cronJobSpec(&c.Spec, &old.Spec)...)
}

// cronJobSpec checks the spec of a CronJob. old is nil for a new one.
func cronJobSpec(s, old *batchv1.CronJobSpec) field.ErrorList {
	spec := field.NewPath("spec")
	zoned := old != nil && strings.Contains(old.Schedule, "TZ")
	errs := schedule(s.Schedule, zoned, s.TimeZone, spec.Child("schedule"))
	if old == nil || !reflect.DeepEqual(old.TimeZone, s.TimeZone) {
		errs = append(errs, timeZone(s.TimeZone, spec.Child("timeZone"))...)
	}
	return append(errs, table(Fields(s), spec, cronJobRows)...)
}

var cronJobRows = []row{
	{"concurrencyPolicy", oneOf("Allow", "Forbid", "Replace")},
	{"startingDeadlineSeconds", atLeast0},
	{"successfulJobsHistoryLimit", atLeast0},
	{"failedJobsHistoryLimit", atLeast0},
}

// schedule checks a schedule. It may have a time zone if the old one has.
func schedule(text string, zoned bool, zone *string, path *field.Path) (errs field.ErrorList) {
	if text == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if _, err := parse(text); err != nil {
		errs = append(errs, field.Invalid(path, text, err.Error()))
	}
	switch {
	case !strings.Contains(text, "TZ"):
	case !zoned:
		errs = append(errs,
			field.Invalid(path, text, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"))
	case zone != nil:
		errs = append(errs,
			field.Invalid(path, text, "cannot use both timeZone field and TZ or CRON_TZ in schedule"))
	}
	return errs
}

// parse parses a schedule. The parser panics on some.
func parse(text string) (of cron.Schedule, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("invalid schedule format: %v", r)
		}
	}()
	return cron.ParseStandard(text)
}

// NextRun returns the first run of a CronJob's schedule after a time, as its controller finds it; zero if there is
// none. Without a time zone it takes UTC.
func NextRun(text, timeZone string, after time.Time) (next time.Time) {
	zone, err := time.LoadLocation(timeZone)
	of, invalid := parse(text)
	if err != nil || invalid != nil {
		return next
	}
	return of.Next(after.In(zone))
}

var partOfZone = regexp.MustCompile(`^[A-Za-z._0-9+][A-Za-z._0-9+-]{0,13}$`)

func timeZone(zone *string, path *field.Path) (errs field.ErrorList) {
	switch {
	case zone == nil:
		return nil
	case *zone == "":
		return field.ErrorList{field.Invalid(path, zone, "timeZone must be nil or non-empty string")}
	}
	for _, part := range strings.Split(*zone, "/") {
		if part == "." || part == ".." || !partOfZone.MatchString(part) {
			return field.ErrorList{field.Invalid(path, zone, "unknown time zone "+*zone)}
		}
	}
	if strings.EqualFold(*zone, "Local") {
		errs = append(errs, field.Invalid(path, zone,
			"timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"))
	}
	if _, err := time.LoadLocation(*zone); err != nil {
		errs = append(errs, field.Invalid(path, zone, err.Error()))
	}
	return errs
}
