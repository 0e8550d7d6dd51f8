package dev.bellwether.testkit.sim;

import dev.bellwether.Phase;
import dev.bellwether.spi.HandOverNote;
import dev.bellwether.spi.HandOverNote.Stage;
import dev.bellwether.spi.Order;
import java.time.Duration;
import java.util.List;

/**
 * The course of a world: a storm; then calm, in which what was promised must come about; then the end, after which
 * nothing is left.
 */
final class WorldRun {
    private static final int HAND_OVERS = 4;

    private final World world;
    private final Simulation settings;
    private final long longestWork;

    WorldRun(World world, Simulation settings) {
        this.world = world;
        this.settings = settings;
        longestWork = (long) (settings.longestWork() * world.weather().leaseNanos());
    }

    void live() {
        var lease = world.weather().leaseNanos();
        for (var left = settings.processes(world.random()); left > 0; left--) {
            world.agenda().in((long) (world.random().nextDouble() * lease), world::startProcess);
        }
        new FaultScheduler(world).begin();
        pass((long) (settings.leases() * lease));
        calmDown();
        List.copyOf(world.invariants().seats().keySet()).forEach(this::somebodyLeads);
        if (settings.isSteady()) {
            // a task that began in the storm may still fail
            pass(world.weather().longestDelayNanos() + 2 * lease + longestWork);
            List.copyOf(world.invariants().seats().keySet()).forEach(this::leadersRideThrough);
            List.copyOf(world.invariants().seats().keySet()).forEach(this::theSeatPassesOn);
        }
        if (settings.isHandingOver()) {
            pass(2 * lease);
            for (var round = 0; round < HAND_OVERS; round++) {
                List.copyOf(world.invariants().seats().keySet()).forEach(this::theSeatIsHandedOver);
            }
        }
        end();
    }

    private void pass(long nanos) {
        world.until(world.agenda().now() + nanos, () -> false);
    }

    private void calmDown() {
        world.trace().line("world", "the storm is over");
        world.weather().calm();
        world.network().heal();
        world.server().recover();
        world.processes().forEach(SimProcess::recover);
        for (var election : world.invariants().seats().keySet()) {
            if (world.server().look(election).ended()) {
                world.server().carryOut(election, Order.DELETE);
            }
        }
        if (world.processes().isEmpty()) {
            world.startProcess();
        }
    }

    private void somebodyLeads(String election) {
        var seat = world.invariants().seat(election);
        var longer = world.server().setBackNanos();
        var bound = seat.bounds().recovery(world.weather(), longestWork) + longer;
        var since = world.agenda().now();
        world.until(
                since + bound,
                () -> seat.leader() != null || !seat.bounds().feasible(world.weather()) || nobodyStands(seat));
        var known = seat.bounds().recovery(world.weather(), longestWork) + longer; // others may have joined meanwhile
        world.until(
                since + known,
                () -> seat.leader() != null || !seat.bounds().feasible(world.weather()) || nobodyStands(seat));
        if (seat.leader() == null && seat.bounds().feasible(world.weather()) && !nobodyStands(seat)) {
            world.violate(
                    "once the faults stop, somebody leads within the bound",
                    "nobody leads \"" + election + "\" " + Duration.ofNanos(known) + " after the storm",
                    null);
        }
    }

    private static boolean nobodyStands(Invariants.Seat seat) {
        return seat.candidacies().stream()
                .allMatch(one -> one.isClosed() || one.process().hangs());
    }

    /** An outage that is short enough against the lease changes nothing. */
    private void leadersRideThrough(String election) {
        var seat = world.invariants().seat(election);
        var leader = seat.leader();
        if (leader == null || world.isBroken() || !seat.bounds().feasible(world.weather())) {
            return;
        }
        var bounds = Bounds.of(leader.config());
        var outage = bounds.outage(world.weather());
        var token = leader.token();
        if (outage > 0) {
            world.trace().line("world", leader + " is cut off for " + Duration.ofNanos(outage));
            world.network().cut(leader.process(), true, true, outage);
        }
        pass(Math.max(0, outage) + 2 * bounds.lease());
        if (!world.isBroken() && (seat.leader() != leader || leader.token() != token)) {
            world.violate(
                    "a leader rides through an outage shorter than its deadline",
                    leader + " was cut off for " + Duration.ofNanos(Math.max(0, outage)) + " and leads no more: "
                            + leader.status(),
                    null);
        }
    }

    /** A leader is killed, another resigns: each time the next one leads within the bound. */
    private void theSeatPassesOn(String election) {
        var seat = world.invariants().seat(election);
        var leader = seat.leader();
        if (leader == null || world.isBroken() || !seat.bounds().feasible(world.weather())) {
            return;
        }
        var known = seat.bounds();
        var token = leader.token();
        var heirs = hasHeir(seat, leader);
        world.kill(leader.process());
        world.startProcessLater(known.lease());
        var bound = known.failover(world.weather(), leader.config().lease().toNanos());
        var passed = world.until(world.agenda().now() + bound, () -> seat.leader() != null);
        if (heirs && !passed && !world.isBroken()) {
            world.violate(
                    "a dead leader's seat passes on within a lease, a retry and a round trip",
                    "nobody leads \"" + election + "\" " + Duration.ofNanos(bound) + " after the leader under token "
                            + token + " was killed",
                    null);
        }
        pass(2 * known.lease());
        var next = seat.leader();
        // anybody who came up meanwhile may be set to wait less for an answer than one takes here
        if (next == null || world.isBroken() || !seat.bounds().feasible(world.weather())) {
            return;
        }
        heirs = hasHeir(seat, next);
        next.process().shutDown();
        var orderly = bound + known.closing(world.weather(), longestWork);
        passed = world.until(
                world.agenda().now() + orderly,
                () -> seat.leader() != null && seat.leader().token() > next.token());
        if (heirs && !passed && !world.isBroken()) {
            world.violate(
                    "a resigned leader's seat passes on",
                    "nobody leads \"" + election + "\" " + Duration.ofNanos(orderly) + " after " + next + " resigned",
                    null);
        }
    }

    /** All others hold back, so the named standby is the next, and leads on. */
    private void theSeatIsHandedOver(String election) {
        var seat = world.invariants().seat(election);
        var leader = seat.leader();
        var stand = seat.candidacies().stream()
                .filter(one -> one != leader && one.status().phase() == Phase.STANDING_BY && !one.works())
                .toList();
        if (leader == null
                || stand.isEmpty()
                || world.isBroken()
                || !seat.bounds().keepsCourtesy(world.weather())) {
            return;
        }
        var to = stand.get(world.random().nextInt(stand.size()));
        var lease = seat.bounds().lease();
        var order = new HandOverNote(
                leader.token(), "o" + leader.token(), Stage.ASKED, Duration.ofNanos(lease), to.candidate());
        world.trace().line("world", "hand-over of \"" + election + "\" by " + leader + " to " + to);
        world.server().receive("hand-over", () -> world.server().note(election, order.token(), "", order.text()));
        var passed = world.until(
                world.agenda().now() + 3 * lease,
                () -> seat.leader() != null && seat.leader().token() > order.token());
        var next = seat.leader();
        pass((long) (world.random().nextDouble(1, 3) * lease)); // so that others ask at any time before the next one
        if (!world.isBroken() && (!passed || next != to || seat.leader() != to)) {
            world.violate(
                    "a seat that is handed over when all is well goes to its successor, who leads on",
                    "%s was to get the seat of %s under token %d; %s led next, and now %s leads"
                            .formatted(to, leader, order.token(), next, seat.leader()),
                    null);
        }
    }

    private static boolean hasHeir(Invariants.Seat seat, ObservedCandidacy leader) {
        return seat.candidacies().stream()
                .anyMatch(one -> one.process() != leader.process()
                        && !one.process().isLeaving()
                        && !one.process().hangs()
                        && one.status().phase() == Phase.STANDING_BY
                        && !one.works());
    }

    /** All leave; then nobody holds a seat, or counts as a candidate. */
    private void end() {
        world.closing();
        world.trace().line("world", "all leave");
        var seats = world.invariants().seats();
        List.copyOf(world.processes()).stream().filter(SimProcess::hangs).forEach(world::kill);
        world.processes().forEach(SimProcess::shutDown);
        var bound = seats.values().stream()
                .mapToLong(seat -> seat.bounds().closing(world.weather(), longestWork))
                .max()
                .orElse(0);
        var ended = world.until(
                world.agenda().now() + bound,
                () -> world.processes().stream()
                        .allMatch(process -> process.candidacies().isEmpty()));
        if (!ended && !world.isBroken()) {
            world.violate(
                    "every candidacy ends in time",
                    world.processes() + " have not ended " + Duration.ofNanos(bound) + " after they resigned",
                    null);
        }
        var patience = seats.values().stream()
                .mapToLong(seat -> seat.bounds().patience())
                .max()
                .orElse(0);
        pass(world.weather().longestDelayNanos());
        seats.keySet().forEach(election -> world.server().look(election)); // records run out from when they are seen
        pass(patience + world.server().setBackNanos());
        seats.keySet().forEach(election -> world.server().look(election)); // and sessions from when it is too late
        pass(patience);
        for (var election : seats.keySet()) {
            var view = world.server().look(election);
            if (view.holder().isPresent() || !view.candidates().isEmpty()) {
                world.violate("nothing is left behind", "the store still holds " + view, null);
            }
        }
    }
}
