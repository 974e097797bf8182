package indexset

// Text is the text of a set in a field of an API type. It can be any text: a field that another client has
// edited by hand must not stop the informer that reads all objects of a kind, as the strict
// UnmarshalText of [Set] would.
type Text string

// TextOf returns the canonical text of a set.
func TextOf(s Set) Text { return Text(s.String()) }

// Set returns the set within [0, completions), and what is wrong with the text, as [ParseDamaged] does.
func (t Text) Set(completions int32) (set Set, damage *SyntaxError) {
	return ParseDamaged(string(t), completions)
}
