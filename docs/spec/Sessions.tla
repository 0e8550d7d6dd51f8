------------------------------ MODULE Sessions ------------------------------
(* Many seats kept by one record: the session of a process. The rules are those of LeaseSessions and SeatRules.       *)
(* There is one seat here. A claim is what it is in RecordSeat; the seat joins the session by a further write of its  *)
(* holder. A claimant of a seat that names a session ends the session first, by compare-and-set, forever.             *)
(* Requests stay in the net forever; answers come late or never. Break switches one rule off.                         *)
EXTENDS Clocks, Sequences, TLC

CONSTANTS Nobody, L,
          Keepers,  \* processes that may have a session; the others only want the seat, and claim it once
          MaxK,     \* writes of the seat by each of these, besides those that give it up
          MaxR,     \* writes of its session by each of these
          Begins,   \* where behaviours begin: "new", "led", "joined", "renewed" or "left"
          Break

VARIABLES seat, sess, net, ans, seenSeat, seenSess, proc
vars == <<clocks, seat, sess, net, ans, seenSeat, seenSess, proc>>
P == Candidates

Idle(p) == [ph |-> "idle", k |-> p.k, n |-> 0, rev |-> 0, joined |-> FALSE, since |-> Never,
            r |-> p.r, sRev |-> p.sRev, sSince |-> p.sSince]

New == /\ ClocksStart
       /\ seat = [rev |-> 0, own |-> Nobody, n |-> 0, joined |-> FALSE]
       /\ sess = [p \in P |-> [rev |-> 0, st |-> "none"]]
       /\ net = {} /\ ans = {}
       /\ seenSeat = [p \in P |-> [rec |-> seat, at |-> 0]]     \* all have seen the seat when it was new
       /\ seenSess = [p \in P |-> [s \in P |-> [rev |-> 0, st |-> "none", at |-> 0]]]
       /\ proc = [p \in P |-> [ph |-> "idle", k |-> 0, n |-> 0, rev |-> 0, joined |-> FALSE, since |-> Never,
                               r |-> 0, sRev |-> 0, sSince |-> Never]]

\* What some steps lead to: one leads, its session was made at time 0, and it has written its seat so often. To begin
\* there saves TLC these steps, where a behaviour is long. Keepers must then be one process: they are not taken for the
\* same. `rev` is the revision of the seat that all others have seen, and `saw` tells whether they have seen the session.
First == CHOOSE p \in Keepers : TRUE
Write(joined, t) == [joined |-> joined, at |-> [mono |-> t, wall |-> t]]
AtRev(writes, rev) == IF rev = 0 THEN [rev |-> 0, own |-> Nobody, n |-> 0, joined |-> FALSE]
                      ELSE [rev |-> rev, own |-> First, n |-> 1, joined |-> writes[rev].joined]
Prepared(writes, rev, saw) == LET k == Len(writes) IN
    /\ ClocksAt(writes[k].at.mono)
    /\ seat = AtRev(writes, k)
    /\ sess = [p \in P |-> IF p = First THEN [rev |-> 1, st |-> "live"] ELSE [rev |-> 0, st |-> "none"]]
    /\ net = {[kind |-> "seat", p |-> First, n |-> 1, exp |-> i - 1, own |-> First, joined |-> writes[i].joined,
               at |-> writes[i].at] : i \in 1..k} \cup {[kind |-> "sess", s |-> First, at |-> Never, exp |-> 0]}
    /\ ans = {[kind |-> "seat", p |-> First, n |-> 1, rev |-> i, joined |-> writes[i].joined, at |-> writes[i].at]
              : i \in 1..k} \cup {[kind |-> "sess", p |-> First, rev |-> 1, at |-> Never]}
    /\ seenSeat = [p \in P |-> [rec |-> AtRev(writes, IF p = First THEN 0 ELSE rev), at |-> 0]]
    /\ seenSess = [p \in P |-> [s \in P |-> IF saw /\ s = First /\ p # First THEN [rev |-> 1, st |-> "live", at |-> 0]
                                            ELSE [rev |-> 0, st |-> "none", at |-> 0]]]
    /\ proc = [p \in P |-> IF p = First
                           THEN [ph |-> "lead", k |-> k, n |-> 1, rev |-> k, joined |-> writes[k].joined,
                                 since |-> writes[k].at, r |-> 1, sRev |-> 1, sSince |-> Never]
                           ELSE [ph |-> "idle", k |-> 0, n |-> 0, rev |-> 0, joined |-> FALSE, since |-> Never,
                                 r |-> 0, sRev |-> 0, sSince |-> Never]]
Led     == Prepared(<<Write(FALSE, 0)>>, 0, FALSE)
Joined  == Prepared(<<Write(FALSE, 0), Write(TRUE, 0)>>, 0, FALSE)
Renewed == Prepared(<<Write(FALSE, 0), Write(FALSE, 1)>>, 0, TRUE)                 \* by itself, a tick later
Left    == Prepared(<<Write(FALSE, 0), Write(TRUE, 0), Write(FALSE, 1)>>, 2, TRUE) \* the session, a tick later

Init == CASE Begins = "new"     -> New
          [] Begins = "led"     -> Led
          [] Begins = "joined"  -> Joined
          [] Begins = "renewed" -> Renewed
          [] Begins = "left"    -> Left

Most(p) == IF p \in Keepers THEN MaxK ELSE 1
Usable == L - (IF Break = "drift ignored" THEN 0 ELSE Drift)
Leads(p) == proc[p].ph = "lead" /\ Holds(p, proc[p].since, Usable)
Later(x, y) == IF x.mono > y.mono THEN x ELSE y

\* -------------------------------------------------------------- seeing
SeeSeat(p) == /\ proc[p].ph = "idle" /\ seenSeat[p].rec # seat
              /\ seenSeat' = [seenSeat EXCEPT ![p] = [rec |-> seat, at |-> Mono(p)]]
              /\ UNCHANGED <<clocks, seat, sess, net, ans, seenSess, proc>>
\* Other seats may name it too, so that it may be known before this one does.
SeeSess(p, s) == /\ p # s /\ proc[p].ph = "idle" /\ sess[s].st # "none"
                 /\ seenSess[p][s].rev # sess[s].rev
                 /\ seenSess' = [seenSess EXCEPT ![p][s] = [rev |-> sess[s].rev, st |-> sess[s].st, at |-> Mono(p)]]
                 /\ UNCHANGED <<clocks, seat, sess, net, ans, seenSeat, proc>>
Waited(p, s) == Mono(p) - seenSess[p][s].at >= L

\* -------------------------------------------------------------- the seat
Free(p) == LET r == seenSeat[p].rec IN
    CASE r.own = Nobody -> TRUE
      [] ~r.joined -> Mono(p) - seenSeat[p].at >= L
      [] OTHER -> \/ seenSess[p][r.own].st = "ended"
                  \/ /\ Break = "the seat taken before its session is ended"
                     /\ seenSess[p][r.own].st = "live" /\ Waited(p, r.own)

SeatWrite(p, n, exp, own, joined, at) ==
    net' = net \cup {[kind |-> "seat", p |-> p, n |-> n, exp |-> exp, own |-> own, joined |-> joined, at |-> at]}

Claim(p) == /\ proc[p].ph = "idle" /\ proc[p].k < Most(p) /\ Free(p)
            /\ SeatWrite(p, proc[p].k + 1, seenSeat[p].rec.rev, p, FALSE, Reading(p))
            /\ ans' = {x \in ans : x.kind = "sess" \/ x.p # p}   \* answers to older claims grant nothing
            /\ proc' = [proc EXCEPT ![p].ph = "claim", ![p].k = @ + 1, ![p].n = proc[p].k + 1, ![p].rev = 0]
            /\ UNCHANGED <<clocks, seat, sess, seenSeat, seenSess>>

\* Into the session: sent when the session has been written since the last proof for the seat, and proves that much.
Join(p) == /\ Leads(p) /\ ~proc[p].joined /\ proc[p].k < Most(p) /\ proc[p].sRev > 0
           /\ proc[p].sSince.mono >= proc[p].since.mono \/ Break = "joins a session that is older than its own proof"
           /\ SeatWrite(p, proc[p].n, proc[p].rev, p, TRUE, proc[p].sSince)
           /\ proc' = [proc EXCEPT ![p].k = @ + 1]
           /\ UNCHANGED <<clocks, seat, sess, ans, seenSeat, seenSess>>

\* Renewed by itself; it leaves the session, if it was in one.
Alone(p) == /\ Leads(p) /\ proc[p].k < Most(p)
            /\ SeatWrite(p, proc[p].n, proc[p].rev, p, FALSE, Reading(p))
            /\ proc' = [proc EXCEPT ![p].k = @ + 1]
            /\ UNCHANGED <<clocks, seat, sess, ans, seenSeat, seenSess>>

SeatAnswered(p) ==
    /\ proc[p].ph = "claim" \/ Leads(p)
    /\ \E x \in ans : /\ x.kind = "seat" /\ x.p = p /\ x.n = proc[p].n /\ x.rev > proc[p].rev
                      /\ proc' = [proc EXCEPT ![p].ph = "lead", ![p].rev = x.rev, ![p].joined = x.joined,
                                              ![p].since = IF proc[p].ph = "claim" THEN x.at ELSE Later(@, x.at)]
    /\ UNCHANGED <<clocks, seat, sess, net, ans, seenSeat, seenSess>>

\* The mandate ends, and the seat is given up: its session would keep it forever otherwise.
GiveUp(p) == /\ proc[p].ph = "lead"
             /\ SeatWrite(p, 0, proc[p].rev, Nobody, FALSE, Never)
             /\ proc' = [proc EXCEPT ![p] = Idle(@)]
             /\ UNCHANGED <<clocks, seat, sess, ans, seenSeat, seenSess>>
Forget(p) == /\ proc[p].ph = "claim" \/ (proc[p].ph = "lead" /\ ~Leads(p))
             /\ proc' = [proc EXCEPT ![p] = Idle(@)]
             /\ UNCHANGED <<clocks, seat, sess, net, ans, seenSeat, seenSess>>

\* -------------------------------------------------------------- the session
\* Made once; prolonged as long as its last proof is not older than its lease; never once it is over.
Sustain(p) ==
    /\ Leads(p) /\ p \in Keepers /\ proc[p].r < MaxR
    /\ \/ proc[p].r = 0
       \/ proc[p].sRev > 0 /\ Mono(p) < proc[p].sSince.mono + L
       \/ proc[p].sRev > 0 /\ Break = "a session revived"
    /\ net' = net \cup {[kind |-> "sess", s |-> p, at |-> Reading(p),
                         exp |-> IF Break = "a session revived" THEN sess[p].rev ELSE proc[p].sRev]}
    /\ proc' = [proc EXCEPT ![p].r = @ + 1]
    /\ UNCHANGED <<clocks, seat, sess, ans, seenSeat, seenSess>>

\* A write of ours without an answer may take the seat out of the session, or has.
MayHaveLeft(p) == \E m \in net : /\ m.kind = "seat" /\ m.p = p /\ m.n = proc[p].n /\ m.exp >= proc[p].rev

\* It proves the seats that are in it, counted from before its own request.
Sustained(p) ==
    \E x \in ans :
      /\ x.kind = "sess" /\ x.p = p /\ x.rev > proc[p].sRev
      /\ proc' = [proc EXCEPT
           ![p].sRev = x.rev, ![p].sSince = x.at,
           ![p].since = IF /\ Leads(p)
                           /\ proc[p].joined \/ Break = "proves a seat that has not joined"
                           /\ ~MayHaveLeft(p) \/ Break = "an unanswered write forgotten"
                        THEN (IF Break = "counted from the answer" THEN Reading(p) ELSE Later(@, x.at)) ELSE @]
      /\ UNCHANGED <<clocks, seat, sess, net, ans, seenSeat, seenSess>>

End(p, s) == /\ p # s /\ proc[p].ph = "idle" /\ seenSeat[p].rec.joined /\ seenSeat[p].rec.own = s
             /\ seenSess[p][s].st = "live" /\ (Waited(p, s) \/ Break = "ended without a wait")
             /\ net' = net \cup {[kind |-> "end", s |-> s, exp |-> seenSess[p][s].rev]}
             /\ UNCHANGED <<clocks, seat, sess, ans, seenSeat, seenSess, proc>>

\* -------------------------------------------------------------- the store
CarryOut(m) ==
    /\ CASE m.kind = "seat" ->
              /\ seat.rev = m.exp
              /\ seat' = [rev |-> seat.rev + 1, own |-> m.own, n |-> m.n, joined |-> m.joined]
              /\ ans' = IF m.own = m.p /\ proc[m.p].n = m.n
                        THEN ans \cup {[kind |-> "seat", p |-> m.p, n |-> m.n, rev |-> seat.rev + 1,
                                        joined |-> m.joined, at |-> m.at]}
                        ELSE ans
              /\ UNCHANGED sess
         [] m.kind = "sess" ->
              /\ sess[m.s].rev = m.exp
              /\ sess' = [sess EXCEPT ![m.s] = [rev |-> @.rev + 1, st |-> "live"]]
              /\ ans' = ans \cup {[kind |-> "sess", p |-> m.s, rev |-> sess[m.s].rev + 1, at |-> m.at]}
              /\ UNCHANGED seat
         [] OTHER ->
              /\ sess[m.s].rev = m.exp /\ sess[m.s].st = "live"
              /\ sess' = [sess EXCEPT ![m.s] = [rev |-> @.rev + 1, st |-> "ended"]]
              /\ UNCHANGED <<seat, ans>>
    /\ UNCHANGED <<clocks, net, seenSeat, seenSess, proc>>

Next == \/ Pass /\ UNCHANGED <<seat, sess, net, ans, seenSeat, seenSess, proc>>
        \/ \E p \in P : \/ SetWall(p) /\ UNCHANGED <<seat, sess, net, ans, seenSeat, seenSess, proc>>
                        \/ SeeSeat(p) \/ Claim(p) \/ Join(p) \/ Alone(p) \/ SeatAnswered(p) \/ GiveUp(p) \/ Forget(p)
                        \/ Sustain(p) \/ Sustained(p)
                        \/ \E s \in P : SeeSess(p, s) \/ End(p, s)
        \/ \E m \in net : CarryOut(m)
Spec == Init /\ [][Next]_vars
Symmetry == Permutations(Keepers) \cup Permutations(Candidates \ Keepers)
\* TLC takes two states for one that differ only in what decides nothing any more: requests that cannot be carried out,
\* since revisions rise; answers that nobody waits for; what the time is, where it matters only how old things are.
Age(p, at) == <<Min(Mono(p) - at.mono, L), Min(Wall(p) - at.wall, L + Leap)>>
Alive(m) == CASE m.kind = "seat" -> m.exp >= seat.rev \/ (m.n = proc[m.p].n /\ m.exp >= proc[m.p].rev)
              [] OTHER           -> m.exp >= sess[m.s].rev
Awaited(x) == CASE x.kind = "seat" -> x.n = proc[x.p].n /\ x.rev > proc[x.p].rev
                [] OTHER           -> x.rev > proc[x.p].sRev
MessageOf(m) == CASE m.kind = "seat" -> <<m.p, m.n, m.exp, m.own, m.joined,
                                          IF m.n = proc[m.p].n /\ m.own = m.p THEN Age(m.p, m.at) ELSE <<>> >>
                  [] m.kind = "sess" -> <<m.s, m.exp, Age(m.s, m.at)>>
                  [] OTHER           -> <<m.s, m.exp>>
AnswerOf(x) == CASE x.kind = "seat" -> <<x.p, x.n, x.rev, x.joined, Age(x.p, x.at)>>
                 [] OTHER           -> <<x.p, x.rev, Age(x.p, x.at)>>
ViewOf(p) == LET m == proc[p] IN
    <<m.ph, m.k, m.n, m.rev, m.joined, IF m.ph = "lead" THEN Age(p, m.since) ELSE <<>>,
      m.r, m.sRev, IF m.sRev > 0 THEN Age(p, m.sSince) ELSE <<>>,
      seenSeat[p].rec, Min(Mono(p) - seenSeat[p].at, L),
      [s \in P |-> <<seenSess[p][s].rev, seenSess[p][s].st, Min(Mono(p) - seenSess[p][s].at, L)>>]>>
View == <<lost, slept, set, seat, sess,
          {MessageOf(m) : m \in {y \in net : Alive(y)}}, {AnswerOf(x) : x \in {y \in ans : Awaited(y)}},
          [p \in P |-> ViewOf(p)]>>

\* -------------------------------------------------------------- what must hold
OneLeader == \A p, q \in P : Leads(p) /\ Leads(q) => p = q
\* Must be found to be false: somebody leads after having ended the session that kept the seat.
NobodyFollows == \A p, q \in P : p # q /\ Leads(p) => seenSess[p][q].st # "ended"
\* These must be found to be false, too, when behaviours begin with what is new or another of them: so one may begin there.
NotLed     == ~Led
NotJoined  == ~Joined
NotRenewed == ~Renewed
NotLeft    == ~Left
=============================================================================
