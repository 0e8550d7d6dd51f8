------------------------------ MODULE KafkaLog ------------------------------
(* A log as a record store, for one key: the rules of LogMachine and LogKeeper. An attempt says at which revision the *)
(* key must be; it is in effect if the key is there when the log is read in order; its offset is then the revision.   *)
(* Every reader judges for itself. Old records are removed; a reader that does not find the beginning starts at a     *)
(* checkpoint, or, if there is none, writes a RESET, waits a lease, and writes that all is settled.                    *)
(* Questions: do all readers agree, and does nobody lead beside one who led before a RESET?                           *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Old,       \* processes that have read the log from its beginning
          New,       \* processes that come later and begin with what is left
          MaxLog,
          L,         \* the lease, in ticks
          Horizon,
          LateResets, \* whether a reset may be written late, behind records of which its author knew nothing
          Break

VARIABLES now, log, gone, mind
vars == <<now, log, gone, mind>>
Readers == Old \cup New

(* What a reader knows. pos: so many records were read. base: the offset of the reset behind which it is, 0 for the   *)
(* beginning of the log, -1 if there is nothing to start from. settled: whether anything is in effect. st: the        *)
(* revision of the key, 0 for none. since: when the attempt was sent by which it leads, -1 for none. waits: when it   *)
(* read the reset. from: where it began to read. doubt: where a reset stands of which it cannot tell whether it is in *)
(* effect.                                                                                                            *)
Blank(from) == [pos |-> from - 1, from |-> from, doubt |-> 0, base |-> -1, settled |-> FALSE, st |-> 0, since |-> -1, waits |-> -1,
                up |-> TRUE]
Init == /\ now = 0 /\ log = <<>> /\ gone = 0
        /\ mind = [r \in Readers |-> IF r \in Old THEN [Blank(1) EXCEPT !.base = 0, !.settled = TRUE]
                                                  ELSE [Blank(1) EXCEPT !.up = FALSE]]

Pass == now < Horizon /\ now' = now + 1 /\ UNCHANGED <<log, gone, mind>>

\* -------------------------------------------------------------- writing
Put(r, rec) == /\ Len(log) < MaxLog /\ mind[r].up
               /\ log' = Append(log, rec) /\ UNCHANGED <<now, gone, mind>>
Record(r, kind, exp) == [kind |-> kind, by |-> r, exp |-> exp, at |-> now, asof |-> mind[r].pos + 1,
                         base |-> mind[r].base, settled |-> mind[r].settled]

\* A claim: the key is at this revision. Here a seat is taken once behind each reset, so that no other rule is needed.
Try(r) == /\ mind[r].base >= 0
          /\ mind[r].settled \/ Break = "open at once"
          /\ Put(r, Record(r, "try", mind[r].st))
\* A request may also be late: written as of what its author knew long ago. Any older expectation stands for that.
Late(r) == /\ mind[r].base >= 0
           /\ \E i \in 1..Len(log) : /\ log[i].by = r /\ log[i].kind = "try"
                                     /\ Put(r, log[i])
Check(r) == mind[r].base >= 0 /\ mind[r].settled /\ Put(r, Record(r, "check", mind[r].st))
\* Nothing to start from: all begins again.
Reset(r) == mind[r].base = -1 /\ (mind[r].pos = Len(log) \/ LateResets) /\ Put(r, Record(r, "reset", 0))
Settle(r) == /\ mind[r].base > 0 /\ ~mind[r].settled
             /\ now - mind[r].waits >= L \/ Break = "settled without a wait"
             /\ Put(r, Record(r, "settled", 0))

\* -------------------------------------------------------------- reading
\* What record i makes of what is known by somebody who has a base.
Judge(m, r, i) == LET x == log[i] IN
    CASE x.kind = "try" ->
           IF (m.settled \/ Break = "open at once") /\ x.base = m.base
              /\ x.exp = m.st
           THEN [m EXCEPT !.st = i, !.since = IF x.by = r /\ x.exp = 0 THEN x.at ELSE @]
           ELSE m
      [] x.kind = "reset" ->
           IF m.base < x.asof
           THEN [m EXCEPT !.base = i, !.settled = FALSE, !.st = 0, !.since = -1, !.waits = now]
           ELSE m
      [] x.kind = "settled" -> IF x.base = m.base /\ m.base > 0 THEN [m EXCEPT !.settled = TRUE] ELSE m
      [] OTHER -> m

RECURSIVE Replay(_, _, _, _)
Replay(m, r, i, to) == IF i > to THEN m ELSE Replay(Judge(m, r, i), r, i + 1, to)

\* Somebody who has nothing to start from: a reset of one who had read nothing before our beginning, or a checkpoint.
Search(m, r, i) == LET x == log[i] IN
    CASE x.kind = "reset" ->
           IF (x.asof >= m.from /\ x.asof > m.doubt) \/ Break = "starts at any reset"
           THEN [m EXCEPT !.base = i, !.settled = FALSE, !.st = 0, !.waits = now]
           ELSE [m EXCEPT !.doubt = i]
      [] x.kind = "check" /\ (x.asof >= m.from \/ Break = "starts at any checkpoint") ->
           Replay([m EXCEPT !.base = x.base, !.settled = x.settled, !.st = x.exp, !.waits = now], r,
                  IF x.asof > m.from THEN x.asof ELSE m.from, i)
      [] OTHER -> m

Read(r) == LET i == mind[r].pos + 1 IN
    /\ mind[r].up /\ i <= Len(log)
    /\ mind' = [mind EXCEPT ![r] = [(IF @.base >= 0 THEN Judge(@, r, i) ELSE Search(@, r, i)) EXCEPT !.pos = i]]
    /\ UNCHANGED <<now, log, gone>>

\* A process comes up, or one that read on finds that its place is gone: it begins with what is left.
Begin(r) == /\ ~mind[r].up
            /\ mind' = [mind EXCEPT ![r] = IF gone = 0 THEN [Blank(1) EXCEPT !.base = 0, !.settled = TRUE]
                                           ELSE IF Break = "taken for empty" THEN [Blank(gone + 1) EXCEPT !.base = 0, !.settled = TRUE]
                                           ELSE Blank(gone + 1)]
            /\ UNCHANGED <<now, log, gone>>
OutOfRange(r) == /\ mind[r].up /\ mind[r].pos < gone
                 /\ mind' = [mind EXCEPT ![r] = IF Break = "goes on behind a gap" THEN [@ EXCEPT !.pos = gone] ELSE Blank(gone + 1)]
                 /\ UNCHANGED <<now, log, gone>>

\* Retention removes the oldest record; the brokers may do so before all have read it.
Remove == /\ gone < Len(log) /\ gone' = gone + 1
          /\ \A r \in Readers : mind[r].up => mind[r].pos >= gone     \* or it is out of range first
          /\ UNCHANGED <<now, log, mind>>

Reads(r) == mind[r].pos >= gone /\ Read(r)
Next == Pass \/ Remove \/ \E r \in Readers : Try(r) \/ Late(r) \/ Check(r) \/ Reset(r) \/ Settle(r) \/ Reads(r)
                                             \/ Begin(r) \/ OutOfRange(r)
Spec == Init /\ [][Next]_vars

\* TLC takes two states for one that differ only in what decides nothing any more: what the time is, where it matters
\* only how old things are; removed records, but for those that may be written once more.
Age(at) == IF at < 0 THEN at ELSE IF now - at > L THEN L ELSE now - at
RecordOf(x) == [x EXCEPT !.at = IF x.kind = "try" /\ x.exp = 0 THEN Age(@) ELSE 0]
MindOf(m) == [m EXCEPT !.since = Age(@), !.waits = Age(@)]
View == <<gone, Len(log), [i \in (gone + 1)..Len(log) |-> RecordOf(log[i])],
          {RecordOf(log[i]) : i \in {j \in 1..gone : log[j].kind = "try"}}, [r \in Readers |-> MindOf(mind[r])]>>

\* -------------------------------------------------------------- what must hold
Leads(r) == mind[r].up /\ mind[r].since >= 0 /\ now < mind[r].since + L
Agree == \A a, b \in Readers :
    (/\ mind[a].up /\ mind[b].up /\ mind[a].pos = mind[b].pos /\ mind[a].base >= 0 /\ mind[b].base >= 0)
    => mind[a].base = mind[b].base /\ mind[a].settled = mind[b].settled /\ mind[a].st = mind[b].st
OneLeader == \A a, b \in Readers : Leads(a) /\ Leads(b) => a = b
\* Must be found to be false: else the model allows nothing.
NobodyLearns == \A r \in New : ~(mind[r].up /\ mind[r].from > 1 /\ mind[r].base >= 0 /\ mind[r].st > 0)
NobodyLeadsAgain == \A r \in Readers : Leads(r) => mind[r].base = 0
=============================================================================
