// Package chaos leads controllers of Jobs through random lives and says when one
// breaks a property that it must hold.
//
// [Run] throws the dice: pods start, end, are deleted and tampered with, the spec
// changes, caches lag, requests fail or lose their answers, controllers die and
// come back with an old view, two of them act at a time. The referee watches each
// step. In [Liveness] mode everything then calms down, and the Job must come to
// its end. What is found is told as a story: the steps that led there, shrunk.
//
// [Crashes] is the systematic part: it leads a Job through its life once, and
// then again for every write, with the controller killed before or after it. The
// end must be the same.
//
// All of it is a function of the seed. There are no goroutines and no clock: a
// seed that finds something finds it for ever.
package chaos
