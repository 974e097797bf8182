package group_test

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/group"
)

// A copy is equal, and shares no memory that can change.
func TestDeepCopy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy, state := drawPolicy(t), group.State{}
		for range rapid.IntRange(0, 3).Draw(t, "calls") {
			d, err := group.Decide(policy, state, drawFailures(t, &state, 100), at(100))
			if err != nil {
				t.Fatal(err)
			}
			state = d.State
		}
		for _, pair := range [][2]any{{policy, policy.DeepCopy()}, {&state, state.DeepCopy()}} {
			if !reflect.DeepEqual(pair[0], pair[1]) {
				t.Fatalf("%s\nis copied as\n%s", textOf(pair[0]), textOf(pair[1]))
			}
			sharesNothing(t, reflect.ValueOf(pair[0]).Elem(), reflect.ValueOf(pair[1]).Elem())
		}
	})
	if (*group.Policy)(nil).DeepCopy() != nil || (*group.State)(nil).DeepCopy() != nil {
		t.Error("the copy of nil is not nil")
	}
	p := policyOf(t, `{budgets: [{name: x, max: 1, window: 1h}], rules: [{onReasons: [A], onRuleNames: [A], onClasses: [A], onMessagePatterns: [A],
		onExitCodes: {operator: In, values: [1], containerName: A}, templates: [A], members: [A], steps: [{action: RestartGroup, charges: [x], backoff: {}}]}]}`)
	sharesNothing(t, reflect.ValueOf(p).Elem(), reflect.ValueOf(p.DeepCopy()).Elem())
	for _, pair := range [][2]any{{&p.Budgets[0], p.Budgets[0].DeepCopy()}, {&p.Rules[0], p.Rules[0].DeepCopy()}, {&p.Rules[0].Steps[0], p.Rules[0].Steps[0].DeepCopy()}} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s is copied as %s", textOf(pair[0]), textOf(pair[1]))
		}
	}
	var rule group.Rule
	if p.Rules[0].DeepCopyInto(&rule); !reflect.DeepEqual(p.Rules[0], rule) {
		t.Errorf("got the copy %s", textOf(rule))
	}
	used := group.Use{Times: times(1, 2)}
	part := group.Part{Restarts: 1, NotBefore: &times(1)[0], Left: new(int64), Used: map[string]group.Use{"x": used}}
	sharesNothing(t, reflect.ValueOf(part), reflect.ValueOf(*part.DeepCopy()))
	if u, c := used.DeepCopy(), part.DeepCopy(); !reflect.DeepEqual(*u, used) || !reflect.DeepEqual(*c, part) ||
		&u.Times[0] == &used.Times[0] || &c.Used["x"].Times[0] == &used.Times[0] {
		t.Errorf("%+v, %+v", u, c)
	}
}

// sharesNothing fails the test if two values refer to the same memory, apart from that of times and texts.
func sharesNothing(t rapid.TB, a, b reflect.Value) {
	t.Helper()
	switch a.Kind() {
	case reflect.Pointer:
		if !a.IsNil() {
			different(t, a, b)
			sharesNothing(t, a.Elem(), b.Elem())
		}
	case reflect.Slice:
		if a.Len() > 0 {
			different(t, a, b)
		}
		for i := range a.Len() {
			sharesNothing(t, a.Index(i), b.Index(i))
		}
	case reflect.Map:
		if a.Len() > 0 {
			different(t, a, b)
		}
		for _, key := range a.MapKeys() {
			sharesNothing(t, a.MapIndex(key), b.MapIndex(key))
		}
	case reflect.Struct:
		for i := range a.NumField() {
			if a.Type().Field(i).IsExported() {
				sharesNothing(t, a.Field(i), b.Field(i))
			}
		}
	}
}

func different(t rapid.TB, a, b reflect.Value) {
	t.Helper()
	if a.Pointer() == b.Pointer() {
		t.Fatalf("both have the same %s", a.Type())
	}
}
