package dev.bellwether.internal.record;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.internal.record.SeatRecord.Kind;
import dev.bellwether.internal.record.SeatRecord.Orders;
import dev.bellwether.internal.record.SeatSimulation.Setting;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.ForeignRules;
import dev.bellwether.spi.RecordTraits;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The rules of a seat under all that infrastructure does; and that a wrong rule is found out. */
@Tag("seeds")
class SeatSimulationTest {
    private static final int ALL = 10_000;
    private static final int SEEDS = Integer.getInteger("bellwether.seats.seeds", ALL);
    private static final long FIRST = Long.getLong("bellwether.seats.first", 1);

    @Test
    void noHistoryMakesTwoLeadersOrLeavesTheSeatEmpty() {
        var terms = 0;
        for (var seed = FIRST; seed < FIRST + SEEDS; seed++) {
            var simulation = new SeatSimulation(seed, Setting.TRUE);
            assertThat(simulation.run()).as("seed " + seed).isEmpty();
            terms += simulation.terms();
        }
        assertThat(terms).as("mandates").isGreaterThan(4 * SEEDS);
        System.out.println("seats: " + SEEDS + " seeds, " + terms + " mandates");
    }

    @Test
    void aRevisionThatIsUsedAgainIsNotTakenForTheRecordThatWasSeenThere() {
        caught("a record is known by its revision alone, and claimed without reading it again", new SeatRules() {
            @Override
            boolean isSame(StoredRecord found, StoredRecord known) {
                return found.revision() == known.revision();
            }

            @Override
            boolean readsBeforeClaiming() {
                return false;
            }
        });
    }

    @Test
    void aHolderDoesNotWriteOverARevisionThatWasGivenToAnother() {
        caught("a holder extends its lease over a new connection without reading", new SeatRules() {
            @Override
            boolean readsAfterABreak() {
                return false;
            }
        });
    }

    @Test
    void aLowerRevisionIsBelieved() {
        caught("a lower revision is taken for an old answer", new SeatRules() {
            @Override
            boolean believesFall() {
                return false;
            }
        });
    }

    @Test
    void anAnswerToAWriteTakesNothingBackThatWasHeardBeforeIt() {
        caught("who has written knows nothing newer", new SeatRules() {
            @Override
            boolean isPast(StoredRecord written, ObservedRecord known) {
                return false;
            }
        });
    }

    @Test
    void theFormerHolderWaitsToo() {
        caught("the former holder claims a deleted key at once", new SeatRules() {
            @Override
            long waitNanos(ObservedRecord known, String nonce, Duration longest, long nowNanos) {
                return known.record().kind() == Kind.DELETED
                                && known.former().isHeld()
                                && nonce.startsWith(known.former()
                                        .nonce()
                                        .substring(0, known.former().nonce().indexOf('-') + 1))
                                && known.untilNanos() - known.seenNanos() > 0
                        ? 0
                        : super.waitNanos(known, nonce, longest, nowNanos);
            }
        });
    }

    @Test
    void nothingIsNotFreeWhereKeysAreDropped() {
        caught("no record is free at once", new SeatRules() {
            @Override
            boolean mustBeMarked(ObservedRecord known) {
                return false;
            }
        });
        caught("no record is free after a lease", new SeatRules() {
            @Override
            boolean mustBeMarked(ObservedRecord known) {
                return false;
            }

            @Override
            long waitNanos(ObservedRecord known, String nonce, Duration longest, long nowNanos) {
                return known.revision() == 0 && known.suspect()
                        ? Math.max(0, known.seenNanos() + longest.toNanos() - nowNanos)
                        : super.waitNanos(known, nonce, longest, nowNanos);
            }
        });
    }

    @Test
    void anOrderMakesNobodyWaitAgain() {
        caught("an order is a new record", new SeatRules() {
            @Override
            SeatRecord ordered(SeatRecord over, ObservedRecord known, Orders orders, String stamp) {
                return super.ordered(over, known, orders.over(0).standDown(-orders.standDown()), stamp);
            }
        });
    }

    @Test
    void anOrderHitsNoOtherThanItWasFor() {
        caught("an order that is tried again is for whoever leads then", new SeatRules() {
            @Override
            boolean isFor(long named, long present) {
                return true;
            }
        });
    }

    @Test
    void copiesOfAProcessDoNotLeadTogether() {
        var rules = new SeatRules() {
            @Override
            boolean isOurs(StoredRecord found, String carriedOut, long revision, boolean unanswered) {
                return true;
            }
        };
        caught("whatever stands under our name is ours", Setting.of(rules));
        caught("whatever stands under our name is ours, and claims are counted", new Setting(rules, false, false));
    }

    @Test
    void whatIsSeenFirstIsNotFree() {
        caught("a held seat is free at first sight", new SeatRules() {
            @Override
            long waitNanos(ObservedRecord known, String nonce, Duration longest, long nowNanos) {
                return known.record().isHeld() ? 0 : super.waitNanos(known, nonce, longest, nowNanos);
            }
        });
    }

    @Test
    void aTokenIsAboveAllThatWereSeen() {
        // what a store forgot excuses a token that nobody knows of; so this is a fact of the record, not of a simulated
        // run
        var memory = new SeatMemory("e", RecordTraits.PLAIN, SeatRules.TRUE);
        var before = SeatRecord.ABSENT.nobodys(900, 0, Duration.ZERO, "a");
        memory.note(new StoredRecord(950, Instant.EPOCH, before), 0);
        memory.noteFall(new StoredRecord(17, Instant.EPOCH, before), 17, 1);
        assertThat(memory.base(before, 17) + 18).isGreaterThan(900);
    }

    @Test
    void aTokenRisesAlsoWhenNobodyIsLeftWhoHasSeenTheLast() {
        caught("a mark over nothing says what the highest token is beyond nothing", new SeatRules() {
            @Override
            long baseOfMark(SeatRecord over, long highestToken, long reached) {
                return base(over, highestToken, reached);
            }
        });
    }

    /** Where revisions are times, they are above all that was lost: else tokens would double with each loss. */
    @Test
    void nothingIsAddedWhereRevisionsHaveGrownBeyondWhatWasLost() {
        var memory = new SeatMemory("e", RecordTraits.PLAIN, SeatRules.TRUE);
        var lost = SeatRecord.ABSENT.nobodys(900, 0, Duration.ZERO, "a");
        memory.note(new StoredRecord(950, Instant.EPOCH, lost), 0);
        memory.noteFall(new StoredRecord(0, Instant.EPOCH, SeatRecord.ABSENT), 0, 1);
        var mark = lost.nobodys(memory.highestToken(), memory.baseOfMark(lost, 0), Duration.ZERO, "b");
        memory.note(new StoredRecord(960, Instant.EPOCH, mark), 2);
        assertThat(memory.base(mark, 960)).isZero();
        var newcomer = new SeatMemory("e", RecordTraits.PLAIN, SeatRules.TRUE);
        newcomer.note(new StoredRecord(960, Instant.EPOCH, mark), 3);
        assertThat(newcomer.base(mark, 960)).isZero();
    }

    @Test
    void aVacantSeatThatWasReadDoesNotSayThatTheNextGrantIsOver() {
        var memory = new SeatMemory("e", RecordTraits.PLAIN, SeatRules.TRUE);
        var claim = new Claim("e", "ann", "n-1", Duration.ofSeconds(9), Duration.ofSeconds(9), 0, Map.of());
        var vacant = new StoredRecord(8, Instant.EPOCH, SeatRecord.ABSENT.nobodys(2, 0, Duration.ZERO, "a"));
        var read = memory.note(vacant, 0);
        memory.hear(new StoredRecord(9, Instant.EPOCH, vacant.record().taken(claim, Kind.HELD, "b", 0, 0)), 1);
        assertThat(memory.view(read, 2, 0).token()).isEqualTo(2);
        assertThat(memory.highestToken()).isEqualTo(9);
    }

    @Test
    void nobodyOfOursLeadsTogetherWithOneWhoElectsByOtherRules() {
        var terms = 0;
        for (var seed = FIRST; seed < FIRST + SEEDS; seed++) {
            var simulation = new SeatSimulation(seed, Setting.beside(SeatRules.TRUE));
            assertThat(simulation.run()).as("seed " + seed).isEmpty();
            terms += simulation.terms();
        }
        assertThat(terms).as("mandates").isGreaterThan(SEEDS / 2);
        System.out.println("beside others: " + SEEDS + " seeds, " + terms + " mandates");
    }

    @Test
    void afterOthersReleasedNobodyLeadsAtOnce() {
        caughtBeside("a seat that one of theirs released is free at once", new SeatRules() {
            @Override
            Duration grace(SeatRecord record, ForeignRules others, boolean isFirst, Duration longest) {
                return record.kind() == Kind.FOREIGN && record.lease().isZero()
                        ? Duration.ZERO
                        : super.grace(record, others, isFirst, longest);
            }
        });
    }

    @Test
    void othersLeadOnAfterTheirLease() {
        caughtBeside("a seat of theirs is free when its lease is over", new SeatRules() {
            @Override
            Duration grace(SeatRecord record, ForeignRules others, boolean isFirst, Duration longest) {
                return record.kind() == Kind.FOREIGN ? record.lease() : super.grace(record, others, isFirst, longest);
            }
        });
    }

    @Test
    void aLeaseIsNotLongerThanTheirs() {
        caughtBeside("our lease is longer than theirs", new SeatRules() {
            @Override
            boolean mayStand(Duration lease, ForeignRules others) {
                return true;
            }
        });
    }

    @Test
    void whoFollowsOneOfOursThatWaitedWaitsToo() {
        caughtBeside("a claim that was to be confirmed is taken over and led at once", new SeatRules() {
            @Override
            Duration grace(SeatRecord record, ForeignRules others, boolean isFirst, Duration longest) {
                return record.kind() == Kind.PENDING || record.kind() == Kind.VACANT
                        ? Duration.ZERO
                        : super.grace(record, others, isFirst, longest);
            }
        });
    }

    private static void caughtBeside(String rule, SeatRules rules) {
        caught(rule, Setting.beside(rules));
    }

    private static void caught(String rule, SeatRules rules) {
        caught(rule, Setting.of(rules));
    }

    private static void caught(String rule, Setting setting) {
        // where fewer histories are drawn, one in which it shows is enough, whichever it is
        var found = SeatSimulation.found(Math.max(SEEDS, ALL), setting, () -> FIRST, SEEDS < ALL);
        System.out.println(rule + ": found in " + (found.isEmpty() ? "none" : found));
        assertThat(found).as(rule).isNotEmpty();
    }
}
