------------------------------- MODULE Clocks -------------------------------
(* The clocks of all machines, in whole ticks of true time. Nobody reads `now`: it is there for the invariants.      *)
(*                                                                                                                    *)
(* Drift: each clock loses at most Drift ticks in the whole of a behaviour, and never catches up, so that two clocks *)
(* differ by at most Drift over any interval. That is the bound on their rates. Where a clock starts does not matter,*)
(* since only differences of one clock's readings are taken.                                                          *)
(* Suspension: the monotonic clock of a machine stands still, its wall clock runs on.                                 *)
(* Setting: a wall clock is set forward or back, but not back on a machine that is also suspended: no clock would tell.*)
EXTENDS Integers

CONSTANTS Clocked,     \* all who have a clock
          Candidates,  \* those of them that stand for election
          Drift,       \* by how many ticks clocks may differ over any interval
          Sleep,       \* for how many ticks each machine may be suspended, in all
          Sets,        \* by how much a wall clock may be set, forward or back, once
          Both,        \* whether one machine may be suspended and its wall clock be set back: outside of the promise
          Horizon      \* the model ends here

VARIABLES now, lost, slept, set
clocks == <<now, lost, slept, set>>

Mono(m) == now - lost[m] - slept[m]
Wall(m) == now - lost[m] + set[m]
Reading(m) == [mono |-> Mono(m), wall |-> Wall(m)]
Never == [mono |-> 0, wall |-> 0]

Min(x, y) == IF x < y THEN x ELSE y
Max(x, y) == IF x > y THEN x ELSE y
Leap == CHOOSE x \in Sets \cup {0} : \A y \in Sets \cup {0} : y <= x      \* the most by which a clock is set back

\* What Validity.holds says: both clocks are before the end, and the wall clock has not fallen behind the other.
Within(m, since, span) == Mono(m) < since.mono + span /\ Wall(m) < since.wall + span
Holds(m, since, span) == Within(m, since, span) /\ Wall(m) - since.wall + Drift >= Mono(m) - since.mono

ClocksAt(t) == /\ now = t
               /\ lost = [m \in Clocked |-> 0]
               /\ slept = [m \in Candidates |-> 0]
               /\ set = [m \in Candidates |-> 0]
ClocksStart == ClocksAt(0)

Pass == /\ now < Horizon
        /\ now' = now + 1
        /\ lost' \in {f \in [Clocked -> 0..Drift] : \A m \in Clocked : f[m] - lost[m] \in {0, 1}}
        /\ slept' \in {f \in [Candidates -> 0..Sleep] : \A m \in Candidates :
                           f[m] - slept[m] \in {0, 1} /\ (f[m] > 0 => Both \/ set[m] >= 0)}
        /\ UNCHANGED set

SetWall(m) == /\ set[m] = 0
              /\ \E by \in Sets \cup {0 - x : x \in Sets} : /\ by < 0 => Both \/ slept[m] = 0
                                                         /\ set' = [set EXCEPT ![m] = by]
              /\ UNCHANGED <<now, lost, slept>>
=============================================================================
