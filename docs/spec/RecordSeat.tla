----------------------------- MODULE RecordSeat -----------------------------
(* One seat in one record of a store that has compare-and-set and nobody's clock: the rules of SeatRules.             *)
(* A claimant of the seat must have seen the same record for its whole lease, by its own clock; the write then        *)
(* succeeds only if that record is still there.                                                                       *)
(*                                                                                                                    *)
(* A request stays in the net forever: it may be carried out at once, late, twice, or never. Answers come late or    *)
(* never. Readings may show any record that ever was. Break switches one rule off.                                    *)
EXTENDS Clocks, TLC

CONSTANTS Nobody,
          L, Budget,
          MaxK,       \* writes that each candidate may send, besides those that give the seat up
          MaxOrders,  \* operators' orders
          Stale,      \* readings may be old
          Drops,      \* how often the store may drop the key; revisions rise anyway
          Moves,      \* a vacant seat may be moved from under a claim that was given up
          Break

VARIABLES reg,     \* the record
          old,     \* all that ever were
          top,     \* the highest revision that the store has given
          net, ans,
          seen,    \* which record each candidate knows, and since when by its own clock
          cand, orders, drops
vars == <<clocks, reg, old, top, net, ans, seen, cand, orders, drops>>

\* nonce and stamp name a claim and a write of a candidate; over is the revision over which an order lies.
Absent == [rev |-> 0, own |-> Nobody, nonce |-> 0, stamp |-> <<Nobody, 0>>, lease |-> 0, tok |-> 0, over |-> 0]
Idle(k) == [ph |-> "idle", k |-> k, nonce |-> 0, rev |-> 0, stamp |-> <<Nobody, 0>>, tok |-> 0,
            since |-> Never, hard |-> Never]
Unseen == [rec |-> Absent, at |-> 0, ever |-> FALSE]

Init == /\ ClocksStart
        /\ reg = Absent /\ old = {Absent} /\ top = 0 /\ net = {} /\ ans = {} /\ orders = 0 /\ drops = 0
        /\ seen = [c \in Candidates |-> Unseen]
        /\ cand = [c \in Candidates |-> Idle(0)]

Usable == L - (IF Break = "drift ignored" THEN 0 ELSE Drift) - (IF Break = "budget not taken off" THEN 0 ELSE Budget)
Leads(c) == cand[c].ph = "lead" /\ Holds(c, cand[c].since, Usable)
Works(c) == CASE cand[c].ph = "lead" -> Within(c, cand[c].since, Usable + Budget)
              [] cand[c].ph = "down" -> Within(c, cand[c].hard, 0)
              [] OTHER -> FALSE

\* -------------------------------------------------------------- seeing
\* The same record: the same revision and stamp, or an order laid over it. A candidate that knows it has waited for it.
Origin(r) == IF r.over = 0 THEN r.rev ELSE r.over
Same(r, s) == /\ (r.rev = 0) = (s.rev = 0) /\ r.own = s.own /\ r.stamp = s.stamp /\ r.lease = s.lease
              /\ Break = "known by its stamp alone" \/ Origin(r) = Origin(s)

Know(c, r) == seen' = [seen EXCEPT ![c] =
    [rec |-> r, at |-> IF seen[c].ever /\ Same(r, seen[c].rec) THEN seen[c].at ELSE Mono(c), ever |-> TRUE]]

See(c) == /\ \E r \in (IF Stale THEN old ELSE {}) \cup {reg} :
               /\ r # seen[c].rec \/ ~seen[c].ever
               /\ r.rev >= seen[c].rec.rev \/ r = reg   \* an older one is not believed, unless it is read again
               /\ Know(c, r)
          /\ UNCHANGED <<clocks, reg, old, top, net, ans, cand, orders, drops>>

\* -------------------------------------------------------------- what candidates write
\* tok is 0 in a claim: its token is the revision that it gets.
Write(c, k, own, nonce, lease, tok, exp) ==
    net' = net \cup {[c |-> c, k |-> k, own |-> own, nonce |-> nonce, lease |-> lease, tok |-> tok, exp |-> exp,
                      at |-> IF lease = L THEN Reading(c) ELSE Never]}     \* nothing else proves anything

Wait(r) == CASE r.rev = 0 -> IF Break = "absent is free after a lease" THEN L ELSE 0
             [] Break = "free at first sight" -> 0
             [] OTHER -> r.lease
Unmarked(r) == Drops > 0 /\ r.rev = 0 /\ Break \notin {"absent is free", "absent is free after a lease"}
MayClaim(c) == /\ cand[c].ph = "idle" /\ seen[c].ever
               /\ ~Unmarked(seen[c].rec)
               /\ Mono(c) - seen[c].at >= Wait(seen[c].rec)

Claim(c) == /\ MayClaim(c) /\ cand[c].k < MaxK
            /\ Write(c, cand[c].k + 1, c, cand[c].k + 1, L, 0, seen[c].rec.rev)
            /\ ans' = {x \in ans : x.c # c}     \* answers to older claims grant nothing
            /\ cand' = [cand EXCEPT ![c] = [Idle(cand[c].k + 1) EXCEPT !.ph = "claim", !.nonce = cand[c].k + 1]]
            /\ UNCHANGED <<clocks, reg, old, top, seen, orders, drops>>

\* "Nothing there" cannot be watched: who finds it puts a record there that is nobody's, and watches that.
Mark(c) == /\ Drops > 0 /\ cand[c].ph = "idle" /\ seen[c].ever /\ Unmarked(seen[c].rec) /\ cand[c].k < MaxK
           /\ Write(c, cand[c].k + 1, Nobody, 0, L, top, 0)
           /\ cand' = [cand EXCEPT ![c].k = @ + 1]
           /\ UNCHANGED <<clocks, reg, old, top, ans, seen, orders, drops>>

\* The request may be sent after the deadline. It keeps others away, and does not bring the mandate back.
Renew(c) == /\ cand[c].ph = "lead" /\ cand[c].k < MaxK
            /\ Write(c, cand[c].k + 1, c, cand[c].nonce, L, cand[c].tok, cand[c].rev)
            /\ cand' = [cand EXCEPT ![c].k = @ + 1]
            /\ UNCHANGED <<clocks, reg, old, top, ans, seen, orders, drops>>

\* The deadline has passed, or the seat is lost, or the candidate stops silently: the work has the budget.
Fence(c) == /\ cand[c].ph = "lead"
            /\ cand' = [cand EXCEPT ![c].ph = "down", ![c].hard = [mono |-> cand[c].since.mono + Usable + Budget,
                                                                   wall |-> cand[c].since.wall + Usable + Budget]]
            /\ UNCHANGED <<clocks, reg, old, top, net, ans, seen, orders, drops>>

\* The mandate ends first; then the lease is cut short to the budget; the work goes on.
Concede(c, term) ==
    LET End(since, clock) == Min(clock + term - Drift, since + L - Drift)
    IN /\ Leads(c) /\ cand[c].k < MaxK
       /\ IF Break = "released before the work"
          THEN Write(c, 0, Nobody, 0, 0, cand[c].tok, cand[c].rev)
          ELSE Write(c, cand[c].k + 1, c, cand[c].nonce, term, cand[c].tok, cand[c].rev)
       /\ cand' = [cand EXCEPT ![c].ph = "down", ![c].k = @ + 1,
                               ![c].hard = [mono |-> End(cand[c].since.mono, Mono(c)),
                                            wall |-> End(cand[c].since.wall, Wall(c))]]
       /\ UNCHANGED <<clocks, reg, old, top, ans, seen, orders, drops>>
\* It is sent again until it is answered; or later, when the mandate is over anyway. The work ends by then.
ConcedeAgain(c, term) ==
    /\ cand[c].ph = "down" /\ cand[c].k < MaxK
    /\ Write(c, cand[c].k + 1, c, cand[c].nonce, term, cand[c].tok, cand[c].rev)
    /\ cand' = [cand EXCEPT ![c].k = @ + 1,
                            ![c].hard = [mono |-> Min(@.mono, Mono(c) + term - Drift),
                                         wall |-> Min(@.wall, Wall(c) + term - Drift)]]
    /\ UNCHANGED <<clocks, reg, old, top, ans, seen, orders, drops>>

\* The work has ended: the seat is vacated, over the last record that is known to be ours, or it runs out.
Release(c) == /\ cand[c].ph = "down"
              /\ Write(c, 0, Nobody, 0, 0, cand[c].tok, cand[c].rev)
              /\ cand' = [cand EXCEPT ![c] = Idle(@.k)]
              /\ UNCHANGED <<clocks, reg, old, top, ans, seen, orders, drops>>
Leave(c) == /\ cand[c].ph \in {"down", "claim"}
            /\ cand' = [cand EXCEPT ![c] = Idle(@.k)]
            /\ UNCHANGED <<clocks, reg, old, top, net, ans, seen, orders, drops>>

\* A claim that was given up may be carried out still: a vacant seat moves to another revision, so that it is refused.
Move(c) == /\ cand[c].ph = "idle" /\ seen[c].ever /\ seen[c].rec.own = Nobody /\ ~Unmarked(seen[c].rec)
           /\ Write(c, 0, Nobody, 0, seen[c].rec.lease, seen[c].rec.tok, seen[c].rec.rev)
           /\ UNCHANGED <<clocks, reg, old, top, ans, seen, cand, orders, drops>>
GivenUp(c) == \E m \in net : m.c = c /\ m.own = c /\ m.exp = seen[c].rec.rev

\* -------------------------------------------------------------- what the store does
Put(r) == reg' = r /\ top' = r.rev /\ old' = IF Stale THEN old \cup {r} ELSE old

CarryOut(m) ==
    /\ reg.rev = m.exp \/ Break = "written whatever is there"
    /\ LET tok == IF m.tok = 0 THEN (IF Break = "token not raised" THEN 1 ELSE top + 1) ELSE m.tok IN
       /\ Put([rev |-> top + 1, own |-> m.own, nonce |-> m.nonce, stamp |-> <<m.c, m.k>>, lease |-> m.lease,
               tok |-> tok, over |-> 0])
       /\ ans' = IF m.own = m.c /\ cand[m.c].nonce = m.nonce
                 THEN ans \cup {[c |-> m.c, k |-> m.k, rev |-> top + 1, tok |-> tok, lease |-> m.lease, at |-> m.at]}
                 ELSE ans
    /\ UNCHANGED <<clocks, net, seen, cand, orders, drops>>

\* An operator's order leaves holder, stamp and lease alone.
Order == /\ orders < MaxOrders /\ reg.own # Nobody
         /\ orders' = orders + 1
         /\ Put([reg EXCEPT !.rev = top + 1, !.over = Origin(reg),
                            !.lease = IF Break = "an order shortens the lease" THEN Budget ELSE @])
         /\ UNCHANGED <<clocks, net, ans, seen, cand, drops>>

DropKey == /\ drops < Drops /\ reg.rev # 0 /\ reg' = Absent /\ drops' = drops + 1
           /\ UNCHANGED <<clocks, old, top, net, ans, seen, cand, orders>>

\* -------------------------------------------------------------- answers
Since(c, x) == IF Break = "counted from the answer" THEN Reading(c) ELSE x.at

\* A grant or a renewal was answered; or was read back, and has the stamp of a write whose answer is missing.
Won(c, x) == /\ cand' = [cand EXCEPT ![c].ph = "lead", ![c].rev = x.rev, ![c].stamp = <<c, x.k>>,
                                     ![c].tok = x.tok, ![c].since = Since(c, x)]
             /\ UNCHANGED <<clocks, reg, old, top, net, ans, seen, orders, drops>>
Granted(c) == cand[c].ph = "claim" /\ \E x \in ans : x.c = c /\ Won(c, x)
Proven(c) == /\ Leads(c)
             /\ \E x \in ans : x.c = c /\ x.lease = L /\ x.rev > cand[c].rev /\ Won(c, x)

\* After the deadline, and while the work ends, an answer tells where the record stands, and proves nothing any more.
Noted(c) == /\ cand[c].ph = "down" \/ (cand[c].ph = "lead" /\ ~Leads(c))
            /\ \E x \in ans : /\ x.c = c /\ x.rev > cand[c].rev
                              /\ cand' = [cand EXCEPT ![c].rev = x.rev, ![c].stamp = <<c, x.k>>]
            /\ UNCHANGED <<clocks, reg, old, top, net, ans, seen, orders, drops>>

\* Under our name, and not by a stamp of ours: a copy of this process wrote it.
Mistaken(c) == /\ Break = "whatever has our name is ours" /\ cand[c].ph = "claim" /\ reg.own # Nobody
               /\ \E m \in net : /\ m.c = c /\ m.nonce = cand[c].nonce
                                 /\ Won(c, [rev |-> reg.rev, k |-> m.k, tok |-> reg.tok, at |-> m.at])
ReadFromNow(c) == /\ Break = "a reading taken for a proof" /\ Leads(c) /\ reg.own = c
                  /\ Won(c, [rev |-> reg.rev, k |-> reg.stamp[2], tok |-> reg.tok, at |-> Reading(c)])

\* An order lies over our record: it is ours still, and proves nothing.
OrderSeen(c) == /\ cand[c].ph = "lead" /\ reg.over # 0 /\ reg.stamp = cand[c].stamp /\ reg.rev # cand[c].rev
                /\ cand' = [cand EXCEPT ![c].rev = reg.rev]
                /\ UNCHANGED <<clocks, reg, old, top, net, ans, seen, orders, drops>>

Next == \/ Pass /\ UNCHANGED <<reg, old, top, net, ans, seen, cand, orders, drops>>
        \/ Order \/ DropKey
        \/ \E c \in Candidates :
             \/ SetWall(c) /\ UNCHANGED <<reg, old, top, net, ans, seen, cand, orders, drops>>
             \/ cand[c].ph = "idle" /\ See(c)
             \/ Claim(c) \/ Mark(c) \/ Renew(c) \/ (~Leads(c) /\ Fence(c)) \/ Concede(c, Budget) \/ ConcedeAgain(c, Budget)
             \/ Release(c) \/ Leave(c) \/ (Moves /\ GivenUp(c) /\ Move(c))
             \/ Granted(c) \/ Proven(c) \/ Noted(c) \/ Mistaken(c) \/ ReadFromNow(c) \/ OrderSeen(c)
        \/ \E m \in net : CarryOut(m)

Spec == Init /\ [][Next]_vars
\* TLC works it out when it begins, and Trace has a dozen candidates.
Symmetry == IF Horizon = 0 THEN {} ELSE Permutations(Candidates)
\* TLC takes two states for one that differ only in what decides nothing any more: requests that cannot be carried out,
\* since revisions rise; answers that nobody waits for; what the time is, where it matters only how old things are.
Age(c, at) == <<Min(Mono(c) - at.mono, L), Min(Wall(c) - at.wall, L + Leap)>>
Alive(m) == \/ Drops > 0 \/ m.exp >= reg.rev
            \/ Break \in {"written whatever is there", "whatever has our name is ours"}
Awaited(x) == cand[x.c].ph # "idle" /\ x.rev > cand[x.c].rev
Proves(c, nonce, lease, at) == IF /\ lease = L /\ nonce = cand[c].nonce
                                  /\ cand[c].ph \in {"claim", "lead"}
                               THEN Age(c, at) ELSE <<>>
ViewOf(c) == LET m == cand[c] IN
    <<m.ph, m.k, m.nonce, m.rev, m.tok, IF m.ph = "lead" /\ MaxOrders > 0 THEN m.stamp ELSE <<>>,
      CASE m.ph = "lead" -> Age(c, m.since)
        [] m.ph = "down" -> <<Max(m.hard.mono - Mono(c), 0), Max(m.hard.wall - Wall(c), 0 - Leap)>>
        [] OTHER         -> <<>>,
      seen[c].ever, seen[c].rec, IF seen[c].ever THEN Min(Mono(c) - seen[c].at, L) ELSE 0>>
View == <<lost, slept, set, reg, old, top, orders, drops,
          {<<m.c, m.k, m.own, m.nonce, m.lease, m.tok, m.exp, Proves(m.c, m.nonce, m.lease, m.at)>> :
              m \in {y \in net : Alive(y)}},
          {<<x.c, x.k, x.rev, x.tok, x.lease, Proves(x.c, cand[x.c].nonce, x.lease, x.at)>> :
              x \in {y \in ans : Awaited(y)}},
          [c \in Candidates |-> ViewOf(c)]>>

\* -------------------------------------------------------------- what must hold
OneLeader == \A c, d \in Candidates : Leads(c) /\ Leads(d) => c = d
WorkEnded == \A c, d \in Candidates : Leads(c) /\ Works(d) => c = d
TokensDiffer == \A c, d \in Candidates : c # d /\ cand[c].ph = "lead" /\ cand[d].ph = "lead" => cand[c].tok # cand[d].tok

\* Must be found to be false: else the model allows nothing.
NobodyFollows == \A c \in Candidates : Leads(c) => cand[c].tok = 1
NobodyFollowsAnOrder == orders > 0 => \A c \in Candidates : Leads(c) => cand[c].tok = 1
=============================================================================
