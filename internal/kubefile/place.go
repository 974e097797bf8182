package kubefile

import "fmt"

// Place is where in the input an object stands.
type Place struct {
	File string
	// Document counts the documents of the file from 1, without empty ones.
	Document int
	// Item counts the items of a list from 1; 0 for an object that stands alone.
	Item int
}

// String returns the place as it begins an error: "pods.yaml: document 1, item 3".
func (p Place) String() string {
	if p.Item == 0 {
		return fmt.Sprintf("%s: document %d", p.File, p.Document)
	}
	return fmt.Sprintf("%s: document %d, item %d", p.File, p.Document, p.Item)
}
