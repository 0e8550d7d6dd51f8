package dev.bellwether.memory;

import dev.bellwether.ElectionException;
import dev.bellwether.RosterMode;
import dev.bellwether.spi.GroupMembership;
import dev.bellwether.spi.GroupObserver;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.RosterStanding;
import dev.bellwether.spi.RosterTerms;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** One member of a group in {@link MemoryGroups}: heartbeats and reads. Confined to the loop. */
final class MemoryMembership implements GroupMembership {
    private final RosterStanding standing;
    private final GroupObserver observer;
    private final Loop loop;
    private final MemoryRosters.Wire wire;
    private final boolean journal;
    private final String topic;
    private final Duration interval;
    private final Set<Integer> has = new TreeSet<>();
    private final Set<Integer> revoking = new TreeSet<>();
    private final Map<Integer, Long> positions = new TreeMap<>();
    private final Runnable unwatch;

    private int incarnation;
    private long highest;
    private int topicRead = -1;
    private boolean joined;
    private boolean leaving;
    private boolean closed;
    private long pausedUntilNanos;
    private long beat;
    private boolean beating;
    private long read;
    private boolean reading;
    private boolean more;
    private long caughtUpAt = -1;
    private boolean caughtUp;
    private Loop.@Nullable Timer timer;

    MemoryMembership(RosterStanding standing, GroupObserver observer, Loop loop, MemoryRosters.Wire wire) {
        this.standing = standing;
        this.observer = observer;
        this.loop = loop;
        this.wire = wire;
        journal = standing.config().mode() == RosterMode.EXCLUSIVE;
        topic = standing.roster();
        interval = standing.config().lease().dividedBy(6);
        pausedUntilNanos = loop.clock().nanos();
        if (journal) {
            positions.put(0, 0L);
        }
        unwatch = wire.watch(topic, () -> loop.execute(this::readOn));
        loop.execute(this::begin);
    }

    private String id() {
        return standing.instance() + '#' + incarnation + '#' + standing.member();
    }

    /** Returns the name of the member that joined under this id. */
    static String name(String id) {
        return id.split("#", 3)[2];
    }

    private String group() {
        return standing.config().group();
    }

    private void begin() {
        if (journal) {
            wire.call(
                    groups -> groups.end(topic, 0),
                    end -> loop.execute(() -> {
                        caughtUpAt = end;
                        readOn();
                    }));
        }
        tick();
    }

    private void tick() {
        if (closed) {
            return;
        }
        if (journal && !caughtUp) { // the question or its answer was lost, or the log was created again since
            wire.call(
                    groups -> groups.end(topic, 0),
                    end -> loop.execute(() -> caughtUpAt = caughtUpAt < 0 ? end : Math.min(caughtUpAt, end)));
        }
        beating = false; // whatever was asked before: its answer will not count
        heartbeat();
        reading = false;
        readOn();
        timer = loop.at(loop.clock().nanos() + interval.toNanos(), this::tick);
    }

    // ---------------------------------------------------------------- the group

    private void heartbeat() {
        if (closed || leaving || beating || loop.clock().nanos() - pausedUntilNanos < 0) {
            return;
        }
        beating = true;
        var number = ++beat;
        var config = standing.config();
        var said = new MemoryGroups.Heartbeat(
                id(),
                config.weight(),
                config.lease(),
                RosterTerms.of(config),
                Collections.unmodifiableSet(new TreeSet<>(has)),
                !joined,
                highest);
        wire.call(
                groups -> groups.heartbeat(topic, group(), said), answer -> loop.execute(() -> heard(number, answer)));
    }

    private void heard(long number, MemoryGroups.Membership answer) {
        if (number != beat || !beating || closed || leaving) {
            return;
        }
        beating = false;
        if (answer.refusal().isPresent()) {
            leaving = true; // there is nothing to leave
            observer.failed(
                    new ElectionException("member \"" + standing.member() + "\" of roster \"" + topic + "\", group "
                            + group() + ", is refused: " + answer.refusal().get()));
            loop.execute(observer::left);
            return;
        }
        if (!answer.member()) {
            rejoin();
            return;
        }
        joined = true;
        if (answer.highest() > highest) {
            highest = answer.highest();
            observer.highest(highest);
        }
        var gained = new ArrayList<Integer>();
        var toGo = new ArrayList<Integer>();
        for (var partition : answer.partitions()) {
            if (!revoking.contains(partition) && has.add(partition)) {
                gained.add(partition);
                if (!journal) {
                    positions.put(partition, -1L);
                }
            }
        }
        for (var partition : has) {
            if (!answer.partitions().contains(partition) && revoking.add(partition)) {
                toGo.add(partition);
            }
        }
        if (!toGo.isEmpty()) {
            observer.revoking(toGo);
            toGo.forEach(this::takeAtLast);
        }
        if (!gained.isEmpty()) {
            observer.assigned(gained);
            readOn();
        }
    }

    /** The group waits no longer than the stand-down budget. */
    private void takeAtLast(int partition) {
        var at = loop.clock().nanos() + standing.config().standDownBudget().toNanos();
        loop.at(at, () -> revoked(partition));
    }

    /** We are no member any more: what we had is lost. */
    private void rejoin() {
        joined = false;
        incarnation++;
        var gone = new ArrayList<>(has);
        has.clear();
        revoking.clear();
        if (!journal) {
            positions.clear();
        }
        if (!gone.isEmpty()) {
            observer.lost(gone);
        }
        heartbeat();
    }

    @Override
    public void revoked(int partition) {
        if (revoking.remove(partition)) {
            has.remove(partition);
            if (!journal) {
                positions.remove(partition);
            }
            heartbeat();
        }
    }

    @Override
    public void commit(long number) {
        var member = id();
        wire.call(
                groups -> groups.commit(topic, group(), member),
                accepted -> observer.committed(
                        number, accepted ? GroupObserver.Commit.ACCEPTED : GroupObserver.Commit.REFUSED));
    }

    @Override
    public void highest(long token) {
        highest = Math.max(highest, token);
    }

    @Override
    public void standAside(Duration time) {
        var member = id();
        pausedUntilNanos = loop.clock().nanos() + time.toNanos();
        wire.call(groups -> groups.leave(topic, group(), member), left -> {});
        rejoin();
    }

    @Override
    public void leave() {
        if (leaving) {
            loop.execute(observer::left); // we were never in it
        } else {
            leaving = true;
            var member = id();
            wire.call(groups -> groups.leave(topic, group(), member), left -> observer.left());
            if (!journal) {
                positions.clear();
            }
            loop.at(loop.clock().nanos() + interval.multipliedBy(2).toNanos(), observer::left);
        }
    }

    @Override
    public void close() {
        closed = true;
        unwatch.run();
        if (timer != null) {
            timer.cancel();
        }
    }

    // ---------------------------------------------------------------- the log

    @Override
    public void write(int partition, byte[] record) {
        wire.call(groups -> groups.append(topic, partition, record), offset -> {});
    }

    private void readOn() {
        if (closed || positions.isEmpty()) {
            return;
        }
        if (reading) {
            more = true;
            return;
        }
        reading = true;
        more = false;
        var number = ++read;
        var from = Collections.unmodifiableMap(new TreeMap<>(positions)); // in one order in every process
        var member = id();
        wire.call(
                groups -> groups.read(topic, journal ? null : group(), member, from),
                batch -> loop.execute(() -> wasRead(number, from, batch)));
    }

    private void wasRead(long number, Map<Integer, Long> from, MemoryGroups.Batch batch) {
        if (number != read || !reading || closed) {
            return;
        }
        reading = false;
        if (topicRead >= 0 && batch.topic() != topicRead) {
            topicRead = batch.topic(); // another of the same name: our places mean nothing there
            positions.replaceAll((partition, before) -> journal ? 0L : -1L);
            if (journal) {
                observer.beganAgain(0);
            }
            readOn();
            return;
        }
        topicRead = batch.topic();
        if (journal && !batch.anew().isEmpty()) {
            observer.beganAgain(batch.next().getOrDefault(0, 0L));
        }
        for (var one : batch.records()) {
            if (positions.containsKey(one.partition())) {
                observer.read(one.partition(), one.offset(), one.writtenMillis(), one.record());
            }
        }
        batch.next()
                .forEach((partition, next) -> positions.computeIfPresent(
                        partition, (same, before) -> before.equals(from.get(partition)) ? next : before));
        if (journal && !caughtUp && caughtUpAt >= 0 && positions.getOrDefault(0, 0L) >= caughtUpAt) {
            caughtUp = true;
            observer.caughtUp();
        }
        if (more || !batch.records().isEmpty()) {
            readOn();
        }
    }
}
