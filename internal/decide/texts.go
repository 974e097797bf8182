package decide

import "github.com/jobfate/jobfate/indexset"

// indexTexts are two texts of a list of indexes with their sets: the one that was read
// last, and the one that the last decision asked to store. A text that has not changed,
// or that comes back as it was stored, is not parsed again.
type indexTexts struct {
	completions int32
	read        indexText
	written     indexText
}

type indexText struct {
	text   string
	set    indexset.Set
	damage *indexset.SyntaxError
}

func (k *indexTexts) parse(text string, completions int32) (indexset.Set, *indexset.SyntaxError) {
	switch same := k.completions == completions; {
	case same && text == k.read.text:
	case same && text == k.written.text:
		k.read = k.written
	default:
		set, damage := indexset.ParseDamaged(text, completions)
		*k = indexTexts{completions, indexText{text, set, damage}, indexText{}}
	}
	return k.read.set, k.read.damage
}

// wrote notes the text of a set that is to be stored.
func (k *indexTexts) wrote(text string, set indexset.Set, completions int32) {
	if k.completions != completions {
		*k = indexTexts{completions: completions}
	}
	if text != k.read.text {
		k.written = indexText{text: text, set: set}
	}
}
