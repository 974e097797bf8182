package draft_test

import (
	"math"
	"strings"
	"testing"

	. "github.com/jobfate/jobfate/internal/podtest"

	"github.com/jobfate/jobfate/backoff/draft"
)

// KEP-3850, early draft: "We propose the addition of a new enum field in PodFailurePolicy called backoffLimitTarget, that
// accepts the values Job and Index. Job (the default value) would have the same behavior as the current implementation".
// The fields are those of a JobSpec, and back in the form of the draft.
func TestConvert(t *testing.T) {
	for _, tc := range []struct {
		spec, want, back string
		err              string // the beginning of the error
	}{
		{`{}`, `{}`, `{"backoffLimitTarget":"Job"}`, ""},
		{`{"backoffLimit":3,"backoffLimitTarget":"Job"}`, `{"backoffLimit":3}`, `{"backoffLimit":3,"backoffLimitTarget":"Job"}`, ""},
		{`{"backoffLimit":0}`, `{"backoffLimit":0}`, `{"backoffLimit":0,"backoffLimitTarget":"Job"}`, ""},
		{`{"backoffLimit":3}`, `{"backoffLimit":3}`, `{"backoffLimit":3,"backoffLimitTarget":"Job"}`, ""},
		{`{"backoffLimit":3,"backoffLimitTarget":"Index"}`, `{"backoffLimitPerIndex":3}`, `{"backoffLimit":3,"backoffLimitTarget":"Index"}`, ""},
		{`{"backoffLimitTarget":"Index"}`, `{"backoffLimitPerIndex":6}`, `{"backoffLimit":6,"backoffLimitTarget":"Index"}`, ""},
		{`{"backoffLimit":3,"podFailurePolicy":{"rules":[{"action":"FailIndex"}],"backoffLimitTarget":"Index"}}`,
			`{"backoffLimitPerIndex":3}`, `{"backoffLimit":3,"backoffLimitTarget":"Index"}`, ""},
		{`{"backoffLimit":3,"podFailurePolicy":{"backoffLimitTarget":"Job"}}`, `{"backoffLimit":3}`, `{"backoffLimit":3,"backoffLimitTarget":"Job"}`, ""},
		{`{"backoffLimitTarget":"Index","podFailurePolicy":{}}`, `{"backoffLimitPerIndex":6}`, `{"backoffLimit":6,"backoffLimitTarget":"Index"}`, ""},
		{`{"backoffLimitTarget":"Index","podFailurePolicy":{"backoffLimitTarget":"Index"}}`, `{"backoffLimitPerIndex":6}`,
			`{"backoffLimit":6,"backoffLimitTarget":"Index"}`, ""},
		{`{"backoffLimitTarget":"Job","podFailurePolicy":{"backoffLimitTarget":"Index"}}`, "", "", "podFailurePolicy.backoffLimitTarget: "},
		{`{"podFailurePolicy":{"backoffLimitTarget":"index"}}`, "", "", "podFailurePolicy.backoffLimitTarget: "},
		{`{"backoffLimit":-3,"backoffLimitTarget":"Index"}`, "", "", "backoffLimit: "},
		{`{"backoffLimit":-1}`, "", "", "backoffLimit: "},
		{`{"backoffLimitTarget":"Pod"}`, "", "", `backoffLimitTarget: unknown target "Pod"`},
	} {
		limit := FromJSON[draft.Limit]([]byte(tc.spec))
		fields, err := draft.Convert(limit)
		if tc.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), tc.err) {
				t.Errorf("%s: error %v, want one that begins with %q", tc.spec, err, tc.err)
			}
			continue
		}
		Same(t, tc.spec+": error", err, nil)
		back := Must(fields.Draft())
		for _, value := range []*int32{limit.BackoffLimit, back.BackoffLimit} {
			if value != nil {
				*value++ // the fields do not share it
			}
		}
		Same(t, tc.spec, ToJSON(fields), tc.want)
		Same(t, tc.spec+", and back", ToJSON(Must(fields.Draft())), tc.back)
	}
	fields := draft.Fields{BackoffLimit: new(int32(math.MaxInt32)), BackoffLimitPerIndex: new(int32(2))} // as defaulted
	Same(t, "defaulted fields", Must(fields.Draft()), draft.Limit{BackoffLimit: new(int32(2)), BackoffLimitTarget: "Index"})
}

// A limit that the API server rejects is an error in both directions. KEP-3850, Use enum field: "it does not allow to
// set both .spec.backoffLimit and .spec.backoffLimitPerIndex to control the downgrade".
func TestDraft_errorsNameTheField(t *testing.T) {
	for _, tc := range []struct {
		fields draft.Fields
		field  string
	}{
		{draft.Fields{BackoffLimit: new(int32(-1))}, "backoffLimit"},
		{draft.Fields{BackoffLimitPerIndex: new(int32(-3))}, "backoffLimitPerIndex"},
		{draft.Fields{BackoffLimit: new(int32(4)), BackoffLimitPerIndex: new(int32(2))}, "backoffLimit"},
	} {
		if _, err := tc.fields.Draft(); err == nil || !strings.HasPrefix(err.Error(), tc.field+": ") {
			t.Errorf("error %v, want one that names %s", err, tc.field)
		}
	}
}
