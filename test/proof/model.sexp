; The protocol of KEP-2307 as the Machine runs it, for one arbitrary pod p and one arbitrary
; completion index i of a Job. What holds for an arbitrary one holds for all.
;
; There are any number of controllers. c is the one that acts, o is any other one. A clause of
; the invariant is about the API server and one controller, so it is proven for c and for o.
; Actions of o are actions of c with the names exchanged.
;
; x is a variable before a step, x+ after it. An action has
;   given   values that the step chooses
;   when    what must hold before the step
;   change  the variables that may change; all others keep their values
;   then    how the values before and after belong together
; An action takes p as it is, so that others pods may do anything: their part of a counter is a
; number of its own (fr, sr, lr).

(const
  (indexed Bool "the Job is Indexed")
  (cap Int "how many pods the uncounted lists may hold"))

; What the API server stores, and three facts about the past: n, killed and condemned.
(server
  (alive Bool "the Job exists")
  (deleting Bool "the Job is being deleted")
  (ft Bool "FailureTarget is true")
  (scm Bool "SuccessCriteriaMet is true")
  (done Bool "Complete or Failed is true")
  (inF Bool "p is in uncountedTerminatedPods.failed")
  (inS Bool "p is in uncountedTerminatedPods.succeeded")
  (lr Int "the number of other pods in both lists")
  (fp Int "what p adds to status.failed")
  (fr Int "what all other pods add to status.failed")
  (sp Int "what p adds to status.succeeded")
  (sr Int "the rest of status.succeeded")
  (comp Bool "i is in completedIndexes")
  (fail Bool "i is in failedIndexes")
  (scaled Bool "completions have been lowered")
  (born Bool "p was created")
  (own Bool "the Job controls p")
  (had Bool "the Job has controlled p at some time")
  (lost Bool "p has lost its owner at some time")
  (fin Bool "p has the tracking finalizer")
  (ended Bool "p has the phase Succeeded or Failed")
  (killed Bool "a controller removed the finalizer to delete p")
  (condemned Bool "a controller has deleted p because the Job ends")
  (n Int "how often p was counted: how often it entered a list"))

; What one controller knows. From knows to mP it remembers from sync to sync.
(controller
  (knows Bool "no view that it may use shows p as tracked: it removed the finalizer, or used a view without it")
  (met Bool "every view that it may use is from after p first became tracked")
  (mF Int "status.failed of the last status that it used or stored")
  (mS Int "status.succeeded of that status")
  (mP Bool "p is in a list of that status")
  (on Bool "it has decided, in a sync that is under way")
  (cur Bool "the version of the Job that it will name is the stored one")
  (listing Bool "the status that it decides on, or has stored, lists p")
  (compl Bool "that status has i in completedIndexes")
  (over Bool "that Job is being deleted or has ended or has SuccessCriteriaMet")
  (interim Bool "that Job has FailureTarget or SuccessCriteriaMet")
  (sees Bool "p is tracked, as far as it knows: has the finalizer and belongs to the Job, or is to be adopted")
  (adopts Bool "p is still to be adopted")
  (pcur Bool "p has not changed since the controller saw it")
  (over-p Bool "it saw p with the phase Succeeded or Failed")
  (fin-p Bool "it takes p as finished: the phase, or a deletion that counts as a failure")
  (good Bool "it takes p as succeeded")
  (at Bool "it saw p with the index i")
  (strays Bool "it saw that the Job controls p and does not select it: p is to be released")
  (counts Bool "p has a valid index, and no rule says to ignore its failure")
  (verdict Bool "it saw p fail by a FailJob rule"))

(define tracked (and own fin))
(define listed (or inF inS))
(define departed (or (>= fp 1) (>= sp 1)))
(define F (+ fp fr))
(define S (+ sp sr))
(define last (or deleting done scm))
(define c.dec (or c.over c.interim))
(define c.sure (and c.on c.cur))
(define c.recorded (or c.listing (and indexed c.fin-p c.good (=> c.at c.compl))))

; Each assumption can be dropped. The named property then fails: the test shows the shortest run. The
; first one is a rule of the Machine, the others are what it relies on.
(assume rule P1 "a controller that has neither stored nor used the status of a view decides on pods that are as new as it")
(assume versions P1 "the API server refuses a write that names an old resource version")
(assume complete P1 "a view has everything up to its versions, and is not older than the views used before")
(assume lasting P1 "what a cache has shown of a pod, it does not take back in later views")
(assume live P1 "a live read is live")
(assume truthful P2 "a request that is answered as done was done")
(assume sole P3 "no other client writes the status")
(assume untouched P1 "no other client changes the finalizer of a pod")
(assume once P1 "a pod that was counted is not adopted again")
(assume kept P7 "no view shows a pod without its owner that was adopted again since")
(assume growing P3 "completions are not lowered")
(assume selecting P7 "a Job that is being deleted selects all its pods")

(init
  (and alive (not deleting) (not ft) (not scm) (not done) (not inF) (not inS) (= lr 0)
    (= fp 0) (= fr 0) (= sp 0) (= sr 0) (not comp) (not fail) (not scaled)
    (not born) (not own) (not had) (not lost) (not fin) (not ended) (not killed) (not condemned) (= n 0) (>= cap 1)))

; A controller that has just started, also at the beginning.
(initial-controller
  (and (not c.on) (not c.cur) (not c.listing) (not c.compl) (not c.over) (not c.interim) (not c.sees) (not c.verdict) (= c.mF 0) (= c.mS 0) (not c.mP)
    (not c.knows) (not c.met)))

; ---- what a controller does ----

(action start "a process starts, with an empty memory"
  (change c.knows c.met c.mF c.mS c.mP c.on c.cur)
  (then (and (not c.on+) (not c.cur+) (= c.mF+ 0) (= c.mS+ 0) (not c.mP+)
    (not c.knows+) (not c.met+))))

(action abandon "a sync ends, is abandoned, or fails"
  (change c.on)
  (then (not c.on+)))

(action look "a controller decides on the content of its caches"
  (given (vF Int) (vS Int) (new Bool))
  (change c.on c.cur c.listing c.compl c.over c.interim c.sees c.adopts c.pcur c.over-p c.fin-p c.good
    c.at c.strays c.counts c.verdict c.mF c.mS c.mP c.knows c.met)
  (then (and c.on+
    ; The rule of the Machine: if its last status was not this one, another process has stored it,
    ; and the pods must be as new as the Job (new).
    (=> (and rule (not (and (= c.mF vF) (= c.mS vS) (= c.mP c.listing+)))) new)
    (= c.mF+ vF) (= c.mS+ vS) (= c.mP+ c.listing+)
    ; The Job of the view is the stored one or an earlier one.
    (<= 0 vF F) (<= 0 vS) (=> (not scaled) (<= vS S))
    (=> c.cur+ (and (= vF F) (= vS S) (= c.listing+ listed)))
    (=> c.listing+ (>= n 1))
    (=> c.compl+ (or comp scaled))
    (=> c.over+ last)
    (=> c.interim+ (or ft scm))
    ; The pod of the view is the stored one or an earlier one.
    (=> c.sees+ (or c.adopts+ had))
    (=> c.adopts+ (and c.sees+ born))
    (=> c.over-p+ (and c.fin-p+ ended))
    (=> c.pcur+ (= c.over-p+ ended))
    (=> c.verdict+ (and c.fin-p+ (not c.strays+)))
    (=> complete (and
      (=> c.knows (or c.adopts+ (not c.sees+)))
      (=> (and c.met tracked) (or (and c.sees+ (not c.adopts+)) (and lost (not kept)) (not selecting)))
      ; Pods that are as new as the Job show what its status counts and lists.
      (=> (and new (>= fp 1) (= vF F)) (or c.adopts+ (not c.sees+)))
      (=> (and new (>= sp 1) (= vS S)) (or c.adopts+ (not c.sees+)))
      (=> (and new c.listing+ tracked) (and c.sees+ (not c.adopts+)))))
    (= c.knows+ (or c.knows
      (and complete new (>= fp 1) (= vF F))
      (and complete new (>= sp 1) (= vS S))
      (and lasting had (not tracked) (or c.adopts+ (not c.sees+)) (or c.met (and new c.listing+)))))
    (= c.met+ (or c.met
      (and lasting c.sees+ (not c.adopts+))
      (and complete new c.listing+))))))

(action get "a controller reads the Job live"
  (change c.on c.cur c.listing c.compl c.over c.interim)
  (then (and (not c.on+)
    (=> live (and (= c.cur+ alive) (= c.listing+ listed) (= c.compl+ comp)))
    (=> (not live) (and (=> c.listing+ (>= n 1)) (=> c.compl+ (or comp scaled))))
    (=> c.over+ last)
    (=> c.interim+ (or ft scm)))))

(action list "a controller lists the pods live, and decides"
  (change c.on c.sees c.adopts c.pcur c.over-p c.fin-p c.good c.at c.strays c.counts c.verdict c.knows c.met)
  (then (and c.on+
    (=> c.sees+ (or c.adopts+ had))
    (=> c.adopts+ (and c.sees+ born (not own)))
    (=> c.verdict+ (and c.fin-p+ (not c.strays+)))
    (=> c.over-p+ (and c.fin-p+ ended))
    (=> c.pcur+ (= c.over-p+ ended))
    (=> live (and (= c.sees+ (or c.adopts+ tracked))
      (= c.knows+ (or c.knows (and had (not tracked))))
      (= c.met+ (or c.met had))))
    (=> (not live) (and (= c.knows+ c.knows) (= c.met+ c.met))))))

(action adopt "a controller adopts the pod, and adds the finalizer"
  (when (and c.on c.adopts born (not own) (=> versions c.pcur) (=> once (= n 0))))
  (change own had fin c.adopts c.knows c.met o.knows o.pcur)
  (then (and own+ had+ fin+ (not c.knows+) (not o.knows+) (not o.pcur+)
    (or (and (not c.adopts+) c.met+)                ; answered
        (and c.adopts+ (= c.met+ c.met))))))        ; not answered

(action miss "the pod to adopt turns out to be gone"
  (when (and c.on c.adopts (not own) (not fin)))
  (change c.sees c.adopts)
  (then (and (not c.sees+) (not c.adopts+))))

(action learn "an answer shows that the pod has lost its finalizer before"
  (when (and c.on c.sees (not c.adopts) (not fin)))
  (change c.sees c.knows)
  (then (and (not c.sees+) c.knows+)))

(action condemn "a controller deletes a pod because the Job ends. The pod keeps its finalizer"
  (when (and c.on c.sees (not c.adopts) c.interim))
  (change condemned c.pcur o.pcur)
  (then (and condemned+ (not c.pcur+) (not o.pcur+))))

(action strip-first "a controller removes the finalizer of a running pod, to delete it"
  (when (and c.on c.sees (not c.adopts) fin (not (or c.over-p c.fin-p)) (or (not c.strays) c.over) (=> versions c.pcur)))
  (change fin killed c.sees c.knows c.pcur o.pcur)
  (then (and (not fin+) killed+ (not c.pcur+) (not o.pcur+)
    (or (and (not c.sees+) c.knows+)
        (and (= c.sees+ c.sees) (= c.knows+ c.knows))))))

(action store "a controller stores a status"
  (when (and c.on alive (not done) (not c.adopts) (=> versions c.cur)))
  (change ft scm done inF inS lr fp fr sp sr comp fail n
    c.on c.cur c.listing c.compl c.over c.interim c.mF c.mS c.mP o.cur)
  (then (and
    ; p enters a list if the controller sees it as tracked and finished, and it counts. A Job that
    ; fails counts unfinished pods as failed.
    (not (and inF+ inS+))
    (=> (and listed+ (not listed)) (and c.sees (not c.strays) c.counts (or c.fin-p ft+)
      (=> inS+ (and c.fin-p c.good (not indexed)))
      (=> inF+ (not (and c.fin-p c.good)))))
    ; p leaves its list, and then adds to the counter, if the controller does not see it as tracked.
    (=> inF (not inS+)) (=> inS (not inF+))
    (=> (and listed (not listed+)) (not c.sees))
    (= fp+ (+ fp (ite (and inF (not inF+)) 1 0)))
    (= sp+ (+ sp (ite (and inS (not inS+)) 1 0)))
    (= n+ (+ n (ite (and listed+ (not listed)) 1 0)))
    (>= fr+ fr) (=> (not scaled) (>= sr+ sr)) (>= sr+ 0)
    (=> (or (> lr+ lr) (and listed+ (not listed))) (<= (+ lr+ (ite listed+ 1 0)) cap))
    ; The indexes.
    (=> (and comp (not scaled)) comp+)
    (=> (and fail (not scaled)) (or fail+ comp+))
    (not (and comp+ fail+))
    ; The end.
    (=> ft ft+) (=> scm scm+)
    (=> done+ (and (not listed+) (= lr+ 0) (not c.sees) (or ft+ scm+)))
    (not o.cur+)
    (or (and truthful (= c.on+ c.on) c.cur+ (= c.listing+ (or c.listing listed+)) (= c.compl+ (or c.compl comp+))
          (= c.over+ (or c.over scm+ done+)) (= c.interim+ (or c.interim ft+ scm+))
          (= c.mF+ F+) (= c.mS+ S+) (= c.mP+ listed+))
        (and (not c.on+) (not c.cur+) (= c.listing+ c.listing) (= c.compl+ c.compl) (= c.over+ c.over)
          (= c.interim+ c.interim) (= c.mF+ c.mF) (= c.mS+ c.mS) (= c.mP+ c.mP))))))

(action lie "a status write is answered as done, and was not"
  (when (and c.on (not truthful) (not c.adopts)))
  (change c.listing c.compl c.over c.interim)
  (then (and c.listing+)))

(action strip "a controller removes the finalizer of a pod that the status records, or that needs no record"
  (when (and c.on c.sees (not c.adopts) fin (or (not c.strays) c.over)
    (or c.fin-p c.dec)
    (or c.recorded c.over (not c.counts))
    (=> c.verdict c.dec)))
  (change fin c.sees c.knows c.pcur o.pcur)
  (then (and (not fin+) (not c.pcur+) (not o.pcur+)
    (or (and (not c.sees+) c.knows+)
        (and (= c.sees+ c.sees) (= c.knows+ c.knows))))))

(action release "a controller removes its Job as the owner, and the finalizer, of a pod that the Job does not select"
  (when (and c.on c.sees (not c.adopts) c.strays fin))
  (change own lost fin c.sees c.knows c.pcur o.pcur)
  (then (and (not own+) lost+ (not fin+) (not c.pcur+) (not o.pcur+)
    (or (and (not c.sees+) c.knows+)
        (and (= c.sees+ c.sees) (= c.knows+ c.knows))))))

(action free "a controller removes the finalizer of a pod that no Job controls, or whose Job is gone"
  (when (and fin (or (not own) (not alive))))
  (change fin c.pcur o.pcur)
  (then (and (not fin+) (not c.pcur+) (not o.pcur+))))

; ---- what others do ----

(action create "a pod of the Job is created"
  (when (not born))
  (change born own had fin c.pcur o.pcur)
  (then (and born+ own+ had+ fin+ (not c.pcur+) (not o.pcur+))))

(action add "a pod without an owner is created"
  (when (not born))
  (change born fin c.pcur o.pcur)
  (then (and born+ (not c.pcur+) (not o.pcur+))))

(action end "the pod ends"
  (when (and born (not ended)))
  (change ended c.pcur o.pcur)
  (then (and ended+ (not c.pcur+) (not o.pcur+))))

(action touch "the pod changes in another way, as in its labels and annotations, or its deletion begins"
  (when born)
  (change c.pcur o.pcur)
  (then (and (not c.pcur+) (not o.pcur+))))

(action orphan "the pod loses its owner"
  (when own)
  (change own lost c.pcur o.pcur)
  (then (and (not own+) lost+ (not c.pcur+) (not o.pcur+))))

(action vanish "the pod is removed. A finalizer blocks that"
  (when (and born (not fin)))
  (change own c.pcur o.pcur)
  (then (and (not own+) (not c.pcur+) (not o.pcur+))))

(action edit "the spec or the metadata of the Job changes"
  (when alive)
  (change scaled c.cur o.cur)
  (then (and (=> scaled scaled+) (=> growing (= scaled+ scaled)) (not c.cur+) (not o.cur+))))

(action delete-job "the deletion of the Job begins"
  (when alive)
  (change deleting c.cur o.cur)
  (then (and deleting+ (not c.cur+) (not o.cur+))))

(action remove-job "the Job is gone"
  (when (and alive deleting))
  (change alive c.cur o.cur)
  (then (and (not alive+) (not c.cur+) (not o.cur+))))

(action meddle "somebody else writes the status"
  (when (and alive (not sole)))
  (change ft scm inF inS fp fr sp sr comp fail c.cur o.cur)
  (then (and (not c.cur+) (not o.cur+) (>= fp+ 0) (>= sp+ 0) (>= fr+ 0) (>= sr+ 0))))

(action tamper "somebody else changes the finalizer"
  (when (and born (not untouched)))
  (change fin c.pcur o.pcur)
  (then (and (not c.pcur+) (not o.pcur+))))

; ---- what holds in every state, for every controller ----

(invariant
  (counted "n is what p adds to the counters and lists"
    (= n (+ fp sp (ite inF 1 0) (ite inS 1 0))))
  (positive-failed "p takes nothing from a counter"
    (>= fp 0))
  (positive-succeeded "nor from the other one"
    (>= sp 0))
  (positive-others-failed "nor do other pods"
    (>= fr 0))
  (positive-others-succeeded "from either"
    (>= sr 0))
  (once "p was counted once at most"
    (<= n 1))
  (left "what adds to a counter is not tracked any more"
    (=> departed (not tracked)))
  (unborn "before the Job controls p, p is not counted"
    (=> (not had) (and (not own) (= n 0))))
  (created "before it is created, p is not controlled and has no finalizer"
    (=> (not born) (and (not had) (not fin))))
  (room "the lists hold at most cap pods"
    (<= (+ lr (ite listed 1 0)) cap))
  (closed "a Job that has ended has empty lists"
    (=> done (and (not listed) (= lr 0))))
  (apart "no index is both completed and failed"
    (not (and comp fail)))
  (failed-since "the controller remembers no higher status.failed than the stored one"
    (<= c.mF F))
  (succeeded-since "and no higher status.succeeded"
    (<= c.mS S))
  (knows-failed "whoever remembers a status that counts p as failed knows that p is not tracked"
    (=> (and (>= fp 1) (= c.mF F)) c.knows))
  (knows-succeeded "or as succeeded"
    (=> (and (>= sp 1) (= c.mS S)) c.knows))
  (knows-truly "what it knows is true"
    (=> c.knows (and had (not tracked))))
  (met-listed "whoever remembers a status that lists p uses only views from after p became tracked"
    (=> c.mP (and had c.met)))
  (met-seen "so does whoever decides on a view that shows p as tracked, and it does not know better"
    (=> (and c.sees (not c.adopts)) (and had (=> c.on (and c.met (not c.knows))))))
  (sees-counted "whoever decides on the stored status and p adds to its counters, knows that p is not tracked"
    (=> (and c.sure departed) c.knows))
  (sees-gone "whoever decides on a status that lists p, and does not see p as tracked, knows that it is not"
    (=> (and c.sure listed (or c.adopts (not c.sees))) (and c.knows c.met)))
  (saw-listed "a status that lists p has counted it"
    (=> c.listing (>= n 1)))
  (saw-index "an index that was seen as completed is completed"
    (=> c.compl comp))
  (saw-end "a Job that was seen as over is"
    (=> c.over last))
  (saw-interim "so is an interim condition"
    (=> c.interim (or ft scm)))
  (saw-phase "a pod that was seen running, and has not changed since, is running"
    (=> (and c.on c.pcur (not c.over-p)) (not ended)))
  (saw-failure "a pod that was seen to fail the Job was seen to end, and is not to be released"
    (=> c.verdict (and c.fin-p (not c.strays))))
  (condemned "while a pod was deleted because the Job ends, the Job has an interim condition"
    (=> condemned (or ft scm)))
  (growing "completions were not lowered"
    (not scaled)))

; ---- what is proven of every step ----

(property
  (P1 "a pod is counted at most once"
    (<= n+ 1))
  (P2 "a pod of the Job that counts is recorded before a controller removes its finalizer, unless the Job is over, the pod is running and the controller deletes it, or the controller saw that the Job does not select it"
    (=> (and fin (not fin+) own alive (not last) (not c.strays) c.counts (or c.at (not indexed) (not c.good)))
        (or (>= n 1) (and indexed comp) (and killed+ (not ended)))))
  (P3 "failed and succeeded never decrease"
    (and (>= F+ F) (>= S+ S)))
  (P4 "an index is never both completed and failed"
    (not (and comp+ fail+)))
  (P5 "a verdict that a controller saw is stored before it removes the finalizer of the pod that shows it"
    (=> (and fin (not fin+) own alive c.verdict) (or ft last)))
  (P6 "a Job ends only with empty lists"
    (=> done+ (and (not listed+) (= lr+ 0))))
  (P7 "a pod leaves a list only after its finalizer is gone, or another client has orphaned it"
    (=> (and listed (not listed+)) (not tracked)))
  (P8 "the counters and lists are sums over the pods: each adds what it was counted"
    (= n+ (+ fp+ sp+ (ite inF+ 1 0) (ite inS+ 1 0))))
  (P9 "the lists hold at most cap pods"
    (<= (+ lr+ (ite listed+ 1 0)) cap))
  (P10 "from before a controller deletes a tracked pod because the Job ends, the Job has an interim condition"
    (=> condemned+ (or ft+ scm+))))

; ---- why counting comes to an end ----

; No step raises the rank of a pod, once no pods are created, adopted or orphaned any more, and nobody
; breaks an assumption.
(rank (+ (* 3 (- 1 n)) (ite tracked 1 0) (ite listed 1 0) (ite comp 0 1)))
(raises create add adopt orphan meddle tamper lie)

; A pod is at rest when it is neither tracked nor listed.
(define at-rest (and (not tracked) (not listed)))

; A controller that has just read the Job and its pods, or whose caches show them as they are.
(define c.informed (and c.sure alive (not done) (not c.adopts) (not c.strays) (= c.sees tracked) (= c.listing listed) (= c.compl comp)))

; Each of these steps lowers the rank. set has the values after it.
(due record "list a pod that has finished"
  (when (and c.informed tracked c.fin-p c.counts (not listed) (< lr cap) (not (and indexed c.good))))
  (by store)
  (set (inF (not c.good)) (inS c.good) (n (+ n 1)) (o.cur false) (c.over (or c.over scm)) (c.interim (or c.interim ft scm))
    (c.listing true) (c.mF F) (c.mS S) (c.mP true)))

(due record-index "store the index of a pod that has succeeded"
  (when (and c.informed tracked c.fin-p c.counts c.good indexed c.at (not comp)))
  (by store)
  (set (comp true) (fail false) (o.cur false) (c.over (or c.over scm)) (c.interim (or c.interim ft scm))
    (c.compl true) (c.mF F) (c.mS S) (c.mP listed)))

(due remove "remove the finalizer of a pod that is recorded, or needs no record"
  (when (and c.informed tracked c.fin-p (or c.recorded c.over (not c.counts)) (=> c.verdict c.dec)))
  (by strip)
  (set (fin false) (c.sees false) (c.knows true) (c.pcur false) (o.pcur false)))

(due settle "add a pod that has lost its finalizer to the counter"
  (when (and c.informed (not tracked) listed))
  (by store)
  (set (inF false) (inS false) (fp (+ fp (ite inF 1 0))) (sp (+ sp (ite inS 1 0))) (o.cur false)
    (c.over (or c.over scm)) (c.interim (or c.interim ft scm))
    (c.mF (+ F (ite inF 1 0))) (c.mS (+ S (ite inS 1 0))) (c.mP false)))

; As long as a pod that has finished is not at rest, one of these steps is possible, unless the lists
; are full of other pods, or the verdict of the pod must be stored first.
(always-due
  (=> (and c.informed c.fin-p (not at-rest) (or listed (< lr cap)) (=> c.verdict c.dec)) due))
