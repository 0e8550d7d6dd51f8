------------------------------ MODULE Deadline ------------------------------
(* The argument of the deadline: why two candidates never lead at once over a store that has leases and a clock of   *)
(* its own, such as SQL. The rules are those of LeaseSeat, CandidacyMachine and Validity.                             *)
(*                                                                                                                    *)
(* A request stays in the net forever: it may be carried out at once, late, twice, or never. Answers come late or    *)
(* never. Everybody may do nothing for any time: a pause, a crash, a partition.                                       *)
(* Break switches one rule off.                                                                                        *)
EXTENDS Clocks, TLC

CONSTANTS Server, Nobody,
          L,        \* the lease
          Budget,   \* the stand-down budget
          MaxK,     \* claims and renewals that each candidate may send
          Break

VARIABLES store, net, ans, cand
vars == <<clocks, store, net, ans, cand>>

None == <<Nobody, 0>>
Idle(k) == [ph |-> "idle", k |-> k, nonce |-> 0, tok |-> 0, since |-> Never, hard |-> Never]

Init == /\ ClocksStart
        /\ store = [holder |-> None, until |-> 0, tok |-> 0]
        /\ net = {} /\ ans = {}
        /\ cand = [c \in Candidates |-> Idle(0)]

ServersTime == now - lost[Server]
\* -------------------------------------------------------------- the deadline
\* What is sure of a lease by our own clock, and what is left of that for leading.
Sure   == L - (IF Break = "drift ignored" THEN 0 ELSE Drift)
Usable == Sure - (IF Break = "budget not taken off" THEN 0 ELSE Budget)

Leads(c) == /\ cand[c].ph = "lead"
            /\ CASE Break = "phase alone"        -> TRUE
                 [] Break = "suspension ignored" -> Mono(c) < cand[c].since.mono + Usable
                 [] OTHER                        -> Holds(c, cand[c].since, Usable)

\* Work that was begun under a mandate may run until this is over, and nobody else may lead before.
Works(c) == CASE cand[c].ph = "lead" -> Within(c, cand[c].since, Usable + Budget)
              [] cand[c].ph = "down" -> Mono(c) < cand[c].hard.mono /\ Wall(c) < cand[c].hard.wall
              [] OTHER -> FALSE

\* -------------------------------------------------------------- what candidates do
Send(c, kind, nonce, term) ==
    net' = net \cup {[kind |-> kind, c |-> c, nonce |-> nonce, term |-> term,
                      at |-> IF term = L THEN Reading(c) ELSE Never]}     \* nothing else proves anything

\* Each claim has a nonce of its own. Answers to older claims grant nothing, so they are dropped from the model here.
Claim(c) == /\ cand[c].ph = "idle" /\ cand[c].k < MaxK
            /\ Send(c, "claim", cand[c].k + 1, L)
            /\ ans' = IF Break = "any answer" THEN ans ELSE {x \in ans : x.c # c}
            /\ cand' = [cand EXCEPT ![c] = [Idle(cand[c].k + 1) EXCEPT !.ph = "claim", !.nonce = cand[c].k + 1,
                                                                     !.since = Reading(c)]]
            /\ UNCHANGED <<clocks, store>>

\* The answer came, or the seat was read and names our nonce. It counts from before the claim was sent.
Granted(c) == /\ cand[c].ph = "claim"
              /\ \E x \in ans :
                   /\ x.c = c /\ x.kind = "claim" /\ (x.nonce = cand[c].nonce \/ Break = "any answer")
                   /\ cand' = [cand EXCEPT ![c].ph = "lead", ![c].tok = x.tok,
                                           ![c].since = CASE Break = "grant counted from the answer" -> Reading(c)
                                                          [] Break = "any answer" -> cand[c].since
                                                          [] OTHER -> x.at]
              /\ UNCHANGED <<clocks, store, net, ans>>

\* No answer: the claim is given up, though it may be carried out later.
GiveUp(c) == /\ cand[c].ph = "claim"
             /\ cand' = [cand EXCEPT ![c] = Idle(@.k)]
             /\ UNCHANGED <<clocks, store, net, ans>>

Renew(c) == /\ Leads(c) /\ cand[c].k < MaxK
            /\ Send(c, "renew", cand[c].nonce, L)
            /\ cand' = [cand EXCEPT ![c].k = @ + 1,
                                    ![c].since = IF Break = "unknown taken for success" THEN Reading(c) ELSE @]
            /\ UNCHANGED <<clocks, store, ans>>

\* A definite success counts from before its own request; a mandate that is over does not come back.
Proven(c) == /\ Leads(c)
             /\ \E x \in ans :
                  /\ x.c = c /\ x.kind = "renew" /\ x.nonce = cand[c].nonce /\ x.at.mono > cand[c].since.mono
                  /\ cand' = [cand EXCEPT ![c].since =
                                  IF Break = "renewal counted from the answer" THEN Reading(c) ELSE x.at]
             /\ UNCHANGED <<clocks, store, net, ans>>

\* The deadline has passed, or the candidate stops silently: the work has the budget.
Fence(c) == /\ cand[c].ph = "lead"
            /\ cand' = [cand EXCEPT ![c].ph = "down", ![c].hard = [mono |-> cand[c].since.mono + Usable + Budget,
                                                                   wall |-> cand[c].since.wall + Usable + Budget]]
            /\ UNCHANGED <<clocks, store, net, ans>>

\* In order: the mandate ends; then the lease is cut short to the budget, or what is left of it; the work goes on.
StandDown(c) ==
    LET End(since, clock) == Min(clock + Budget - Drift, since + L - Drift)
    IN /\ Leads(c) /\ cand[c].k < MaxK
       /\ IF Break = "released before the work" THEN Send(c, "release", cand[c].nonce, 0)
                                                ELSE Send(c, "renew", cand[c].nonce, Budget)
       /\ cand' = [cand EXCEPT ![c].ph = "down", ![c].k = @ + 1,
                               ![c].hard = [mono |-> End(cand[c].since.mono, Mono(c)),
                                            wall |-> IF Break = "suspension while standing down" THEN Wall(c) + L + Sleep
                                                     ELSE End(cand[c].since.wall, Wall(c))
                                                          + (IF Break = "slack while standing down" THEN Drift ELSE 0)]]
       /\ UNCHANGED <<clocks, store, ans>>

\* Only when the work has ended is the seat released, and may the candidate stand again.
WorkEnds(c) == /\ cand[c].ph = "down"
               /\ Send(c, "release", cand[c].nonce, 0)
               /\ cand' = [cand EXCEPT ![c] = Idle(@.k)]
               /\ UNCHANGED <<clocks, store, ans>>

\* -------------------------------------------------------------- what the store does
Answer(m, tok) == ans' = IF m.nonce = cand[m.c].nonce \/ Break = "any answer"
                         THEN ans \cup {[c |-> m.c, kind |-> m.kind, nonce |-> m.nonce, tok |-> tok, at |-> m.at]}
                         ELSE ans

CarryOut(m) ==
    LET id == <<m.c, m.nonce>>
        tok == IF store.holder = id \/ Break = "token not raised" THEN store.tok ELSE store.tok + 1
    IN /\ CASE m.kind = "claim" ->
                 /\ store.holder \in {None, id} \/ ServersTime >= store.until
                 /\ store' = [holder |-> id, until |-> ServersTime + L, tok |-> tok]
                 /\ Answer(m, tok)
            [] m.kind = "renew" ->
                 /\ store.holder = id
                 /\ store' = [store EXCEPT !.until = ServersTime + m.term]
                 /\ IF m.term = L THEN Answer(m, store.tok) ELSE UNCHANGED ans
            [] OTHER ->
                 /\ store.holder = id
                 /\ store' = [store EXCEPT !.holder = None]
                 /\ UNCHANGED ans
       /\ UNCHANGED <<clocks, net, cand>>

Next == \/ Pass /\ UNCHANGED <<store, net, ans, cand>>
        \/ \E c \in Candidates :
             \/ SetWall(c) /\ UNCHANGED <<store, net, ans, cand>>
             \/ Claim(c) \/ Granted(c) \/ GiveUp(c) \/ Renew(c) \/ Proven(c) \/ (~Leads(c) /\ Fence(c)) \/ StandDown(c) \/ WorkEnds(c)
        \/ \E m \in net : CarryOut(m)

Spec == Init /\ [][Next]_vars
Symmetry == Permutations(Candidates)
\* TLC takes two states for one that differ only in what decides nothing any more. It is not asked what the time is, but
\* how old things are, and no further than it matters; who waits for an answer, and from when on it would count.
Age(c, at) == <<Min(Mono(c) - at.mono, L), Min(Wall(c) - at.wall, L + Leap)>>
Awaited(x) == \/ Break = "any answer"
              \/ /\ x.nonce = cand[x.c].nonce
                 /\ \/ x.kind = "claim" /\ cand[x.c].ph = "claim"
                    \/ x.kind = "renew" /\ cand[x.c].ph = "lead" /\ x.at.mono > cand[x.c].since.mono
ViewOf(c) == LET m == cand[c] IN
    <<m.ph, m.k, m.nonce,
      CASE m.ph = "lead" -> <<Age(c, m.since), Min(store.tok - m.tok, 2)>>
        [] m.ph = "down" -> <<Max(m.hard.mono - Mono(c), 0), Max(m.hard.wall - Wall(c), 0 - Leap)>>
        [] OTHER         -> IF Break = "any answer" THEN Age(c, m.since) ELSE <<>> >>
View == <<lost, slept, set,
          store.holder, Min(store.tok, 2), IF store.holder = None THEN 0 ELSE Max(store.until - ServersTime, 0),
          {<<m.c, m.kind, m.nonce, m.term, IF Awaited(m) THEN Age(m.c, m.at) ELSE <<>> >> : m \in net},
          {<<x.c, x.kind, x.nonce, Min(store.tok - x.tok, 2), Age(x.c, x.at)>> : x \in {y \in ans : Awaited(y)}},
          [c \in Candidates |-> ViewOf(c)]>>

\* -------------------------------------------------------------- what must hold
OneLeader == \A c, d \in Candidates : Leads(c) /\ Leads(d) => c = d
WorkEnded == \A c, d \in Candidates : Leads(c) /\ Works(d) => c = d
TokensRise == \A c, d \in Candidates : c # d /\ cand[c].ph = "lead" /\ cand[d].ph = "lead" => cand[c].tok # cand[d].tok

\* Must be found to be false: else the model allows nothing.
NobodyFollows == \A c \in Candidates : Leads(c) => cand[c].tok < 2
=============================================================================
