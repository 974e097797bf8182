package main

import "fmt"

// count draws how a pod comes to be counted, as a table over time.
func count() string {
	const left, column, top, row = 150, 138, 96, 34
	d := newDrawing(360, "How a failed pod is counted",
		"A pod ends; its UID is stored in status.uncountedTerminatedPods; its finalizer is removed; the UID leaves the list and the counter goes up in one write. Whatever stops in between can be taken up again.")
	columns := []string{"runs", "has ended", "is recorded", "is released", "is counted"}
	x := func(i int) int { return left + column*i + column/2 }
	for i, name := range columns {
		class := "box"
		if i == len(columns)-1 {
			class = "good"
		}
		d.box(class, x(i)-52, 40, 104, 36, name)
	}
	writes := []string{"", "store the status", "patch the pod", "store the status"}
	for i, write := range writes {
		d.arrow(fmt.Sprintf("M%d 58H%d", x(i)+54, x(i+1)-55))
		d.text((x(i)+x(i+1))/2, 28, "middle", "small", write)
	}
	rows := []struct {
		name  string
		cells []string
	}{
		{"phase", []string{"Running", "Failed", "Failed", "Failed, or gone", "any"}},
		{"finalizer", []string{"on", "on", "on", "off", "off"}},
		{"uncounted, failed", []string{"[ ]", "[ ]", "[ uid ]", "[ uid ]", "[ ]"}},
		{"status.failed", []string{"n", "n", "n", "n", "n + 1"}},
	}
	for i, r := range rows {
		y := top + row*i + 22
		d.dashed(fmt.Sprintf("M16 %dH%d", y-21, width-16))
		d.text(20, y, "start", "", r.name)
		for j, cell := range r.cells {
			class := "code"
			if j > 0 && r.cells[j-1] != cell {
				class = "code num"
			}
			d.text(x(j), y, "middle", class, cell)
		}
	}
	y := top + row*len(rows) + 22
	d.dashed(fmt.Sprintf("M16 %dH%d", y-21, width-16))
	d.text(20, y+2, "start", "", "killed here,", "the next look")
	for i, lines := range [][]string{
		{"waits"},
		{"finds the pod", "and records it"},
		{"finds its UID: does", "not record it again,", "removes the finalizer"},
		{"finds its UID without", "a finalizer: counts it"},
		{"finds nothing", "left to do"},
	} {
		d.text(x(i), y+2, "middle", "small", lines...)
	}
	d.text(width/2, 342, "middle", "small", "A pod of an Indexed Job that has succeeded needs no UID in the list: its index in completedIndexes is the record and the count.")
	return d.end()
}
