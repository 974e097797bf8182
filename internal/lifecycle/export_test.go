package lifecycle

// Ends returns the names of the ways in which a Job can end, in order of precedence.
func Ends() []string {
	names := make([]string, len(ends))
	for i := range ends {
		names[i] = ends[i].name
	}
	return names
}
