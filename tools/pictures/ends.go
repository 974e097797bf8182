package main

import "fmt"

// index draws what may become of an index.
func index() string {
	d := newDrawing(300, "The life of an index, with a backoff limit per index",
		"An index is pending, then has an active pod. The pod succeeds and the index is completed, or it fails: then the first rule that matches, or else the limit, decides whether the index is tried again after a delay or has failed.")
	d.box("box", 16, 90, 116, 56, "pending", "no pod yet")
	d.box("box", 244, 90, 116, 56, "active", "has a pod")
	d.box("box", 412, 90, 150, 56, "its pod fails", "the first rule decides")
	d.box("good", 668, 20, 156, 56, "completed", "in completedIndexes")
	d.box("bad", 668, 176, 156, 56, "failed", "in failedIndexes")
	d.box("box", 214, 208, 176, 56, "backing off", "10 s, 20 s, 40 s … 10 min")

	d.arrow("M134 118H241")
	d.text(187, 110, "middle", "small", "gets a pod")
	d.arrow("M302 88V48H665")
	d.text(480, 40, "middle", "small", "its pod succeeds")
	d.arrow("M362 118H409")
	d.arrow("M564 118H746V173")
	d.text(572, 110, "start", "small", "FailIndex, or failures > limit")
	d.arrow("M487 148V236H393")
	d.text(494, 180, "start", "small", "Count, or no rule: charged", "Ignore: not charged")
	d.arrow("M302 206V149")
	d.text(310, 176, "start", "small", "the next pod carries", "the failure count")
	d.text(width/2, 292, "middle", "small", "A rule with the action FailJob ends the whole Job. An index that is completed stays so, whatever another pod of it comes to.")
	return d.end()
}

// end draws in which order a Job may end, and the two steps in which it does.
func end() string {
	rows := []struct{ class, rule, when string }{
		{"box", "it is decided already", "SuccessCriteriaMet or FailureTarget is True"},
		{"bad", "PodFailurePolicy", "a pod failed, and its rule says FailJob"},
		{"bad", "BackoffLimitExceeded", "failed pods > backoffLimit"},
		{"bad", "DeadlineExceeded", "active for activeDeadlineSeconds"},
		{"bad", "MaxFailedIndexesExceeded", "failed indexes > maxFailedIndexes"},
		{"bad", "FailedIndexes", "all indexes done, and one has failed"},
		{"good", "SuccessPolicy", "enough indexes completed for a rule"},
		{"good", "CompletionsReached", "all completions, and no pod is active"},
	}
	const top, row = 52, 40
	d := newDrawing(top+row*len(rows)+32, "When a Job ends",
		"Eight ways to end, the first that applies decides. Then an interim condition is stored, FailureTarget or SuccessCriteriaMet; when no pod is left, the terminal condition follows, Failed or Complete.")
	d.text(16, 28, "start", "head", "1  The first of these that holds decides")
	for i, r := range rows {
		y := top + row*i
		d.text(16, y+22, "start", "num", fmt.Sprint(i+1))
		fmt.Fprintf(d, `<rect class="%s" x="36" y="%d" width="188" height="32" rx="6"/>`+"\n", r.class, y)
		d.text(130, y+21, "middle", "", r.rule)
		d.text(234, y+21, "start", "small", r.when)
	}
	d.text(530, 28, "start", "head", "2  It ends in two steps")
	d.arrow("M496 98H525")
	d.box("box", 530, 56, 294, 84, "interim condition, stored first", "FailureTarget or SuccessCriteriaMet,", "with the reason. No pod is created", "any more, active ones are deleted")
	d.arrow("M590 142V208")
	d.text(600, 172, "start", "small", "no pod active or", "terminating, all counted")
	d.box("box", 530, 212, 294, 70, "terminal condition", "Failed or Complete, with the same", "reason. Nothing changes after it")
	d.text(530, 316, "start", "small", "In between the Job is decided but not ended:", "its pods still hold their resources.")
	return d.end()
}
