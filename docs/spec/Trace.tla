------------------------------- MODULE Trace --------------------------------
(* Is what the real code did in the simulator a behaviour of RecordSeat? The module Histories, which a test writes,   *)
(* has the histories: what each process wrote and when, by its own clocks; when the store carried it out; and who      *)
(* said that it leads. Each must be allowed by the specification when it happens.                                      *)
(*                                                                                                                     *)
(* What the network did to answers is left open in favour of the code: everybody knows at once what is carried out.   *)
(* So no history is refused that is right; one that is wrong by less than a message takes may pass.                   *)
(* Where a history is not allowed there is no next state, and TLC finds a deadlock.                                    *)
EXTENDS RecordSeat, Sequences, Histories

VARIABLES n,      \* which history
          i,      \* the event that is next
          alive   \* who has clocks now
tvars == <<vars, n, i, alive>>

TraceInit == Init /\ n \in 1..Len(All) /\ i = 1 /\ alive = {}

Event == All[n][i]

\* Everybody sees what is there, and has its answer, before anything else happens.
Learns(c) == \/ c \in alive /\ (~seen[c].ever \/ seen[c].rec # reg) /\ See(c)
             \/ Granted(c) \/ (cand[c].ph = "lead" /\ Proven(c)) \/ Noted(c)
Learning == \E c \in Candidates : Learns(c)

\* [e |-> "time", t |-> true time, at |-> the clocks of all who live]
Time == /\ now' = Event.t
        /\ lost' = [c \in Clocked |-> IF c \in DOMAIN Event.at THEN Event.t - Event.at[c].wall ELSE lost[c]]
        /\ slept' = [c \in Candidates |-> IF c \in DOMAIN Event.at THEN Event.at[c].wall - Event.at[c].mono ELSE slept[c]]
        /\ alive' = DOMAIN Event.at
        /\ UNCHANGED <<set, reg, old, top, net, ans, seen, cand, orders, drops>>

\* What has to end before a candidate can do that; the real one has ended it without a message.
Ends(c, phases) == cand[c].ph \notin phases /\ (Fence(c) \/ Leave(c))

\* [e |-> "send", c |-> who, what |-> "claim" | "renew" | "concede" | "move" | "release",
\*  over |-> revision, lease |-> lease]
Sends(c) == /\ CASE Event.what = "claim"   -> Claim(c)
                 [] Event.what = "renew"   -> Renew(c)
                 [] Event.what = "concede" -> Concede(c, Event.lease) \/ ConcedeAgain(c, Event.lease)
                 [] Event.what = "move"    -> Move(c)
                 [] OTHER                  -> Release(c)
            /\ \E m \in net' \ net : m.exp = Event.over /\ m.lease = Event.lease
Phases == CASE Event.what \in {"claim", "move"} -> {"idle"}
            [] Event.what = "renew"   -> {"lead"}
            [] Event.what = "concede" -> IF Leads(Event.c) THEN {"lead"} ELSE {"down"}
            [] OTHER                  -> {"down"}

\* [e |-> "done", c |-> who, over |-> revision, lease |-> lease, vacant |-> whether it gives the seat up]
Done == \E m \in net : /\ m.c = Event.c /\ m.exp = Event.over /\ m.lease = Event.lease
                       /\ (m.own = Nobody) = Event.vacant
                       /\ CarryOut(m)

TraceNext ==
    IF i > Len(All[n]) THEN UNCHANGED tvars
    ELSE IF ENABLED Learning THEN Learning /\ UNCHANGED <<n, i, alive>>
    ELSE CASE Event.e = "time" -> Time /\ i' = i + 1 /\ UNCHANGED n
           [] Event.e = "send" ->
                IF cand[Event.c].ph \notin Phases THEN Ends(Event.c, Phases) /\ UNCHANGED <<n, i, alive>>
                ELSE Sends(Event.c) /\ i' = i + 1 /\ UNCHANGED <<n, alive>>
           [] Event.e = "done" -> Done /\ i' = i + 1 /\ UNCHANGED <<n, alive>>
           [] Event.e = "leads" -> /\ \A c \in Event.who : Leads(c)
                                   /\ i' = i + 1 /\ UNCHANGED <<vars, n, alive>>

TraceSpec == TraceInit /\ [][TraceNext]_tvars
=============================================================================
