package backoff

import (
	"cmp"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// policyJSON has the form of the Kubernetes API: durations are texts such as "10s".
type policyJSON struct {
	Base   *metav1.Duration `json:"base,omitempty"`
	Cap    *metav1.Duration `json:"cap,omitempty"`
	Factor float64          `json:"factor,omitempty"`
}

// MarshalJSON returns the policy with its durations as texts, as in {"base":"10s","factor":2}.
func (p Policy) MarshalJSON() ([]byte, error) {
	out := policyJSON{Factor: p.Factor}
	if p.Base != 0 {
		out.Base = &metav1.Duration{Duration: p.Base}
	}
	if p.Cap != 0 {
		out.Cap = &metav1.Duration{Duration: p.Cap}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes. If it returns an error, the policy does not change.
func (p *Policy) UnmarshalJSON(text []byte) error {
	var in policyJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	none := &metav1.Duration{}
	*p = Policy{Base: cmp.Or(in.Base, none).Duration, Cap: cmp.Or(in.Cap, none).Duration, Factor: in.Factor}
	return nil
}

// DeepCopyInto copies the record, for controller-gen, which cannot copy a time.Time.
func (r *Record) DeepCopyInto(out *Record) { *out = *r }
