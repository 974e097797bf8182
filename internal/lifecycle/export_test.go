package lifecycle

// Ends returns the names of the ways in which a Job can end, in order of precedence.
func Ends() []string {
	names := make([]string, len(ends))
	for i := range ends {
		names[i] = ends[i].name
	}
	return names
}

// Rule returns the name of the row of the table of ends that decided; empty if the Job does not end.
func (e End) Rule() string {
	if !e.Ended() {
		return ""
	}
	return ends[e.rule].name
}
