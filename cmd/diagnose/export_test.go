package diagnose

// ChangedAttention is an attention that no row has.
const ChangedAttention = AttentionStuck + 1

// ChangeRow gives a row of the table another attention, until restore is called.
func ChangeRow(i int) (restore func()) {
	was := causes[i].attention
	causes[i].attention = ChangedAttention
	return func() { causes[i].attention = was }
}
