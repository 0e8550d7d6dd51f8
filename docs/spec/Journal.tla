------------------------------- MODULE Journal ------------------------------
(* The journal of a seat, as rosters and elections by a group use it on Kafka: the rules of JournalSeat and SeatHold. *)
(* Anybody may claim at any time; the order of the log decides. A claim ends all earlier ones, and waits until the    *)
(* lease of each has passed, counted from when its last record was read. A reader may lose a part of the log.         *)
(* Records stay in the net forever: each may be appended late, twice or never. Break switches one rule off.           *)
EXTENDS Clocks, Sequences, FiniteSets, TLC

CONSTANTS Nobody, L,
          MaxN,     \* claims of each member
          MaxB,     \* beats that it writes under each
          MaxLog,   \* records in all
          MaxGaps,  \* how often somebody loses a part of the log
          Break

VARIABLES log, net, mem, gaps
vars == <<clocks, log, net, mem, gaps>>
M == Candidates

NoClaim == [id |-> <<Nobody, 0>>, tok |-> 0, until |-> 0, out |-> TRUE]
Stand(m) == [m EXCEPT !.ph = "stand", !.tok = 0, !.since = Never]

Init == /\ ClocksStart
        /\ log = <<>> /\ net = {} /\ gaps = 0
        /\ mem = [m \in M |-> [ph |-> "stand", n |-> 0, tok |-> 0, since |-> Never,
                               pos |-> 0, last |-> NoClaim, earlier |-> {}, ended |-> {}, highest |-> 0,
                               highestId |-> <<Nobody, 0>>, unseen |-> 0]]

Usable == L - (IF Break = "drift ignored" THEN 0 ELSE Drift)
Leads(m) == mem[m].ph = "lead" /\ Holds(m, mem[m].since, Usable)

\* -------------------------------------------------------------- what is known of a seat
Barred(k, m) ==
    /\ Break # "earlier claims bar nobody"
    /\ \/ \E e \in k.earlier : e.id[1] # m /\ e.until > Mono(m)
       \/ k.unseen > Mono(m) /\ Break # "a gap bars nobody"

Claimed(k, cl, m) ==
    IF k.last.id = cl.id \/ cl.id \in k.ended THEN k
    ELSE LET ended   == k.ended \cup {e.id : e \in {x \in k.earlier : x.tok < cl.tok}}
             earlier == {e \in k.earlier : e.id # cl.id /\ e.until > Mono(m)}
             again   == k.last = NoClaim /\ cl.tok = k.highest /\ cl.id = k.highestId
         IN IF cl.tok <= k.highest /\ ~again
            THEN [k EXCEPT !.ended = ended,
                           !.earlier = earlier \cup {cl}]
            ELSE [k EXCEPT !.ended = IF k.last = NoClaim THEN ended ELSE ended \cup {k.last.id},
                           !.earlier = IF ~k.last.out /\ k.last.until > Mono(m) THEN earlier \cup {k.last} ELSE earlier,
                           !.highest = cl.tok, !.highestId = cl.id, !.last = cl]

Held(k, cl, m) == IF k.last.id = cl.id THEN [k EXCEPT !.last.until = cl.until] ELSE Claimed(k, cl, m)

Released(k, cl, m) ==
    LET c == IF k.last.id = cl.id THEN k ELSE Claimed(k, cl, m)
        e == {x \in c.earlier : x.id # cl.id}
    IN IF c.last.id = cl.id THEN [c EXCEPT !.last.out = TRUE, !.earlier = e]
       ELSE [c EXCEPT !.ended = @ \cup {cl.id}, !.earlier = e]

BeganAnew(k, m) == [k EXCEPT !.ended = {}, !.last = NoClaim, !.unseen = Mono(m) + L,
                             !.earlier = IF ~k.last.out /\ k.last.until > Mono(m) THEN @ \cup {k.last} ELSE @]

\* -------------------------------------------------------------- writing
Send(m, kind, n, tok) ==
    net' = net \cup {[kind |-> kind, by |-> m, n |-> n, tok |-> tok, at |-> Reading(m)]}

Claim(m) == /\ mem[m].ph = "stand" /\ mem[m].n < MaxN
            /\ Send(m, "claim", mem[m].n + 1, 0)
            /\ mem' = [mem EXCEPT ![m].ph = "claim", ![m].n = @ + 1]
            /\ UNCHANGED <<clocks, log, gaps>>
Beat(m) == /\ mem[m].ph \in {"barred", "lead"}
           /\ Cardinality({x \in net : x.kind = "beat" /\ x.by = m /\ x.n = mem[m].n}) < MaxB
           /\ Send(m, "beat", mem[m].n, mem[m].tok)
           /\ UNCHANGED <<clocks, log, mem, gaps>>
\* Only when the work has ended.
Release(m) == /\ mem[m].ph = "down"
              /\ Send(m, "release", mem[m].n, mem[m].tok)
              /\ mem' = [mem EXCEPT ![m] = Stand(@)]
              /\ UNCHANGED <<clocks, log, gaps>>
ReleaseEarly(m) == /\ Break = "released while leading" /\ mem[m].ph = "lead"
                   /\ Send(m, "release", mem[m].n, mem[m].tok)
                   /\ UNCHANGED <<clocks, log, mem, gaps>>
StandDown(m) == /\ mem[m].ph = "lead"
                /\ mem' = [mem EXCEPT ![m].ph = "down"]
                /\ UNCHANGED <<clocks, log, net, gaps>>

\* A claim's token is where it stands.
Add(x) == /\ Len(log) < MaxLog
          /\ log' = Append(log, IF x.kind = "claim" THEN [x EXCEPT !.tok = Len(log) + 1] ELSE x)
          /\ UNCHANGED <<clocks, net, mem, gaps>>

\* -------------------------------------------------------------- reading
Since(m, x) == IF Break = "counted from the reading" THEN Reading(m) ELSE x.at

\* What the reader's own claim becomes by a record, when that has changed what is known.
Own(k, x, m) ==
    LET mine    == x.by = m /\ x.n = k.n
        counts  == k.last.id = <<m, k.n>> \/ Break = "a beat counts behind another claim"
        free    == ~Barred(k, m)
    IN CASE mine /\ x.kind = "claim" /\ k.ph = "claim" ->
              IF ~counts THEN Stand(k)
              ELSE IF free THEN [k EXCEPT !.ph = "lead", !.tok = x.tok, !.since = Since(m, x)]
              ELSE [k EXCEPT !.ph = "barred", !.tok = x.tok]
         [] mine /\ x.kind = "beat" /\ k.ph = "barred" /\ counts /\ free ->
              [k EXCEPT !.ph = "lead", !.since = Since(m, x)]
         [] mine /\ x.kind = "beat" /\ k.ph = "lead" /\ counts /\ Holds(m, k.since, Usable) ->
              [k EXCEPT !.since = IF x.at.mono > @.mono THEN Since(m, x) ELSE @]
         [] ~mine /\ k.ph = "lead" /\ ~counts -> [k EXCEPT !.ph = "down"]
         [] ~mine /\ k.ph = "barred" /\ ~counts -> Stand(k)
         [] OTHER -> k

Read(m) ==
    /\ mem[m].pos < Len(log)
    /\ LET x  == log[mem[m].pos + 1]
           cl == [id |-> <<x.by, x.n>>, tok |-> x.tok, until |-> Mono(m) + L, out |-> FALSE]
           k  == [mem[m] EXCEPT !.pos = @ + 1]
           known == CASE x.kind = "claim" -> Claimed(k, cl, m)
                      [] x.kind = "beat"  -> Held(k, cl, m)
                      [] OTHER            -> Released(k, cl, m)
       IN mem' = [mem EXCEPT ![m] = Own(known, x, m)]
    /\ UNCHANGED <<clocks, log, net, gaps>>

\* The next records are gone: it begins again behind them.
Lose(m) == /\ gaps < MaxGaps /\ gaps' = gaps + 1
           /\ \E p \in (mem[m].pos + 1)..Len(log) :
                mem' = [mem EXCEPT ![m] = LET k == BeganAnew([@ EXCEPT !.pos = p], m) IN
                                          IF k.ph = "lead" THEN [k EXCEPT !.ph = "down"]
                                          ELSE IF k.ph = "down" THEN k ELSE Stand(k)]
           /\ UNCHANGED <<clocks, log, net>>

Next == \/ Pass /\ UNCHANGED <<log, net, mem, gaps>>
        \/ \E m \in M : \/ SetWall(m) /\ UNCHANGED <<log, net, mem, gaps>>
                        \/ Claim(m) \/ Beat(m) \/ Release(m) \/ ReleaseEarly(m) \/ StandDown(m) \/ Read(m) \/ Lose(m)
        \/ \E x \in net : Add(x)
Spec == Init /\ [][Next]_vars
Symmetry == Permutations(Candidates)

\* TLC takes two states for one that differ only in what decides nothing any more: what all have read; when a record was
\* sent, if its author does not wait for it; what the time is, where it matters only how old things are.
Age(m, at) == <<Min(Mono(m) - at.mono, L), Min(Wall(m) - at.wall, L + Leap)>>
Proves(x) == LET k == mem[x.by] IN
    IF x.n = k.n /\ (\/ x.kind = "claim" /\ k.ph = "claim"
                     \/ x.kind = "beat" /\ k.ph = "barred"
                     \/ x.kind = "beat" /\ k.ph = "lead" /\ x.at.mono > k.since.mono)
    THEN Age(x.by, x.at) ELSE <<>>
RecordOf(x) == <<x.kind, x.by, x.n, x.tok, Proves(x)>>
Unread(x, i) == IF mem[x.by].pos >= i THEN <<x.kind, x.by, x.n, x.tok>> ELSE RecordOf(x)
ReadByAll == CHOOSE p \in {mem[m].pos : m \in M} : \A m \in M : p <= mem[m].pos
Left(m, until) == Max(until - Mono(m), 0)
ClaimOf(m, cl) == <<cl.id, cl.tok, Left(m, cl.until), cl.out>>
ViewOf(m) == LET k == mem[m] IN
    <<k.ph, k.n, k.tok, IF k.ph = "lead" THEN Age(m, k.since) ELSE <<>>, k.pos, ClaimOf(m, k.last),
      {ClaimOf(m, e) : e \in k.earlier}, k.ended, k.highest, k.highestId, Left(m, k.unseen)>>
View == <<lost, slept, set, gaps, Len(log), [i \in (ReadByAll + 1)..Len(log) |-> Unread(log[i], i)],
          {RecordOf(x) : x \in net}, [m \in M |-> ViewOf(m)]>>

\* -------------------------------------------------------------- what must hold
OneLeader == \A a, b \in M : Leads(a) /\ Leads(b) => a = b
\* Must be found to be false: else the model allows nothing.
NobodyFollows == \A m \in M : Leads(m) => mem[m].highest = mem[m].tok /\ mem[m].ended = {}
=============================================================================
