package dev.bellwether.testkit.sim;

import dev.bellwether.spi.HandOverNote;
import dev.bellwether.spi.HandOverNote.Stage;
import dev.bellwether.spi.Order;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** Brings about the faults of one world, at random times. */
final class FaultScheduler {
    private static final List<Fault> BREWED = List.of(
            Fault.PARTITION,
            Fault.STORE_PAUSE,
            Fault.STORE_CRASH,
            Fault.STALL,
            Fault.PAUSE,
            Fault.SUSPEND,
            Fault.CLOCK_JUMP,
            Fault.CRASH,
            Fault.LEAVE,
            Fault.JOIN,
            Fault.STAND_DOWN,
            Fault.END,
            Fault.FORGED_NOTICE,
            Fault.THROW,
            Fault.STORE_CLOCK);

    private final World world;
    private final SplittableRandom random;

    FaultScheduler(World world) {
        this.world = world;
        random = world.random().split();
    }

    void begin() {
        world.agenda().in(world.weather().nextFault(random), this::strike);
    }

    private void strike() {
        if (world.weather().isCalm()) {
            return;
        }
        var kinds = BREWED.stream().filter(world.weather()::has).toList();
        if (!kinds.isEmpty()) {
            strike(kinds.get(random.nextInt(kinds.size())));
        }
        begin();
    }

    private void strike(Fault fault) {
        var nanos = world.weather().outage(random);
        var process = anyProcess();
        switch (fault) {
            case STORE_PAUSE -> {
                tell(fault, "store", nanos);
                world.server().pause(nanos);
            }
            case STORE_CRASH -> {
                tell(fault, "store", nanos);
                world.server().crash(nanos, random.nextBoolean());
            }
            case STORE_CLOCK -> {
                tell(fault, "store", 10 * nanos);
                world.server().setClockBack(10 * nanos);
            }
            case JOIN -> world.startProcess();
            case STAND_DOWN -> {
                if (process != null && random.nextBoolean()) {
                    standDown(process, nanos);
                } else if (random.nextBoolean()) {
                    order(Order.STAND_DOWN);
                } else {
                    handOver(nanos);
                }
            }
            case END -> order(random.nextBoolean() ? Order.END : Order.DELETE);
            case PARTITION, STALL, PAUSE, SUSPEND, CLOCK_JUMP, CRASH, LEAVE, FORGED_NOTICE, THROW -> {
                if (process != null) {
                    strike(fault, process, nanos);
                }
            }
            case DELAY, LOSS, DUPLICATION, CLONE, UNDECIDED ->
                throw new IllegalStateException(fault + " does not strike");
        }
    }

    private void strike(Fault fault, SimProcess process, long nanos) {
        tell(fault, process.name(), nanos);
        switch (fault) {
            case PARTITION -> {
                var kind = random.nextInt(4);
                world.network().cut(process, kind != 0, kind != 1, nanos);
            }
            case STALL -> process.stall(nanos, "stalled");
            case PAUSE -> process.freeze(nanos);
            case SUSPEND -> process.suspend(nanos);
            case CLOCK_JUMP -> {
                var back = !world.weather().has(Fault.SUSPEND) && random.nextBoolean();
                process.machineClock().jump(back ? -nanos : nanos);
            }
            case CRASH -> {
                world.kill(process);
                world.startProcessLater(nanos);
            }
            case LEAVE -> process.shutDown();
            case FORGED_NOTICE -> process.forgeNotice(random);
            case THROW -> process.fails(nanos, random.nextDouble(0.02, 1));
            case DELAY,
                    LOSS,
                    DUPLICATION,
                    STORE_PAUSE,
                    STORE_CRASH,
                    STORE_CLOCK,
                    JOIN,
                    STAND_DOWN,
                    END,
                    CLONE,
                    UNDECIDED -> throw new IllegalStateException(fault + " befalls no process");
        }
    }

    /** The application leaves the seats to others: for a lease, or until it says that it stands again. */
    private void standDown(SimProcess process, long nanos) {
        var candidacies = List.copyOf(process.candidacies());
        candidacies.forEach(one -> one.proclaim(Map.of("struck", String.valueOf(nanos))));
        if (random.nextBoolean()) {
            tell(Fault.STAND_DOWN, process.name(), 0);
            candidacies.forEach(ObservedCandidacy::standDown);
        } else {
            var aside = random.nextInt(4) == 0 ? 1 : nanos;
            tell(Fault.STAND_DOWN, process.name(), aside);
            candidacies.forEach(ObservedCandidacy::standAside);
            process.later(Duration.ofNanos(aside), () -> candidacies.forEach(ObservedCandidacy::standAgain));
        }
    }

    /** An order reaches the store, sooner or later: an operator sits at no process of ours. */
    private void order(Order order) {
        var elections = List.copyOf(world.invariants().seats().keySet());
        if (elections.isEmpty()) {
            return;
        }
        var election = elections.get(random.nextInt(elections.size()));
        tell(order, "operator", 0);
        world.server().receiveWrite(String.valueOf(order), () -> world.server().carryOut(election, order));
        if (order == Order.END) {
            // an ended election is deleted or reopened some day, so that it may be held again
            world.agenda().in(world.weather().outage(random), () -> {
                if (!world.weather().isCalm()) {
                    var opening = world.server().ends(election) % 2 == 0 ? Order.DELETE : Order.REOPEN;
                    world.server()
                            .receiveWrite(
                                    String.valueOf(opening),
                                    () -> world.server().carryOut(election, opening));
                }
            });
        }
    }

    /** A hand-over is ordered to one, or to the one that is ready first; and is withdrawn later, or never. */
    private void handOver(long nanos) {
        var elections = List.copyOf(world.invariants().seats().keySet());
        if (elections.isEmpty()) {
            return;
        }
        var election = elections.get(random.nextInt(elections.size()));
        var seat = world.server().look(election);
        var stand = world.processes().stream()
                .flatMap(process -> process.candidacies().stream())
                .filter(one -> one.election().equals(election) && !one.leads())
                .map(ObservedCandidacy::candidate)
                .toList();
        if (seat.holder().isEmpty() || stand.isEmpty()) {
            return;
        }
        var to = random.nextInt(3) == 0 ? "" : stand.get(random.nextInt(stand.size()));
        var asked = new HandOverNote(
                seat.token(), "o" + random.nextInt(1_000_000), Stage.ASKED, Duration.ofNanos(nanos), to);
        if (world.trace().isOn()) {
            world.trace().line("storm", "hand-over of \"" + election + "\" to " + (to.isEmpty() ? "any" : to));
        }
        world.server()
                .receiveWrite(
                        "hand-over", () -> world.server().note(election, seat.token(), seat.note(), asked.text()));
        if (random.nextBoolean()) {
            world.agenda()
                    .in(
                            nanos,
                            () -> world.server()
                                    .receiveWrite(
                                            "withdrawal",
                                            () -> world.server().note(election, seat.token(), asked.text(), "")));
        }
    }

    private void tell(Enum<?> fault, String whom, long nanos) {
        if (world.trace().isOn()) {
            world.trace()
                    .line("storm", fault + " hits " + whom + (nanos == 0 ? "" : " for %.6f s".formatted(nanos / 1e9)));
        }
    }

    /** Hits those who lead, or whose work has not ended, more often than the others: there is more to go wrong. */
    private @Nullable SimProcess anyProcess() {
        var alive = world.processes();
        var busy = alive.stream()
                .filter(process -> process.candidacies().stream().anyMatch(one -> one.leads() || one.works()))
                .toList();
        var among = busy.isEmpty() || random.nextBoolean() ? alive : busy;
        return among.isEmpty() ? null : among.get(random.nextInt(among.size()));
    }
}
