package decide

import "github.com/jobfate/jobfate/indexset"

// indexTexts caches the sets of two texts: the one that was read last, and the one that
// the last decision asked to store. So a text is not parsed again if it has not changed,
// or if it is the one that was stored.
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

// wrote caches the set of a text that is about to be stored.
func (k *indexTexts) wrote(text string, set indexset.Set, completions int32) {
	if k.completions != completions {
		*k = indexTexts{completions: completions}
	}
	if text != k.read.text {
		k.written = indexText{text: text, set: set}
	}
}
