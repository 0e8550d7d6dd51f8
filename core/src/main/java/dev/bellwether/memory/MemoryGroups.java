package dev.bellwether.memory;

import dev.bellwether.spi.Balance;
import dev.bellwether.spi.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * A partitioned log and the groups over it, in the memory of one process: what a broker is to rosters, and the model of one.
 *
 * <p>Thread-safe: one lock. Every answer is there at once. Members that are silent for a session are thrown out whenever anybody
 * asks anything. A partition that is to move on is first taken from its owner, who says when he has let go of it.
 */
public final class MemoryGroups {
    private static final int MOST_RECORDS = 500;
    /** What is older is forgotten, as by retention: a member that joins reads from what is left. */
    private static final int LONGEST_LOG = 20_000;

    private final Clock clock;
    private final boolean fenced;
    private final Map<String, Group> groups = new HashMap<>();
    private final Map<String, Log[]> topics = new HashMap<>();
    private final Map<String, List<Runnable>> watchers = new HashMap<>();

    /** Where a member stands in its group. */
    public record Membership(boolean member, Set<Integer> partitions) {}

    /** A record, and where it was read. */
    @SuppressWarnings("ArrayRecordComponent") // nobody compares them
    public record Read(int partition, long offset, long writtenMillis, byte[] record) {}

    /** What was read, and from where to read on, by partition. */
    public record Batch(List<Read> records, Map<Integer, Long> next) {}

    /**
     * Makes one that runs by the given clock.
     *
     * @param fenced whether records are read by none but the owner of a partition, apart from those who read all of partition 0
     */
    public MemoryGroups(Clock clock, boolean fenced) {
        this.clock = clock;
        this.fenced = fenced;
    }

    boolean fenced() {
        return fenced;
    }

    /** Says that a member is alive, and which partitions it has; joins it first if asked to. Returns what it should have. */
    public synchronized Membership heartbeat(
            String topic, String group, String member, int weight, Duration session, Set<Integer> has, boolean joins) {
        var present = group(topic, group);
        present.expire(clock.nanos());
        var beating = present.members.get(member);
        if (beating == null) {
            if (!joins) {
                return new Membership(false, Set.of());
            }
            beating = new Member(weight, session);
            present.members.put(member, beating);
            present.changed = true;
        }
        beating.heardNanos = clock.nanos();
        present.letGo(member, has);
        present.balance();
        return new Membership(true, present.of(member));
    }

    /** Returns whether this is a member still. */
    public synchronized boolean commit(String topic, String group, String member) {
        var present = group(topic, group);
        present.expire(clock.nanos());
        var asking = present.members.get(member);
        if (asking != null) {
            asking.heardNanos = clock.nanos();
        }
        return asking != null;
    }

    /** Throws a member out, or lets it go; its partitions are given to others at once. Returns whether it was one. */
    public synchronized boolean leave(String topic, String group, String member) {
        var present = group(topic, group);
        var was = present.members.remove(member) != null;
        present.changed |= was;
        present.balance();
        return was;
    }

    /** Returns the members of a group, in order. */
    public synchronized List<String> members(String topic, String group) {
        return List.copyOf(group(topic, group).members.keySet());
    }

    /** Returns what each group of a topic has given to whom, by name; empty if there is no such topic. */
    synchronized Optional<Map<String, Map<String, Set<Integer>>>> shares(String topic) {
        if (!topics.containsKey(topic)) {
            return Optional.empty();
        }
        var shares = new TreeMap<String, Map<String, Set<Integer>>>();
        groups.forEach((key, group) -> {
            if (key.startsWith(topic + '/') && key.lastIndexOf('/') == topic.length()) {
                group.expire(clock.nanos());
                var members = new TreeMap<String, Set<Integer>>();
                group.members.keySet().forEach(member -> members.put(member, group.of(member)));
                shares.put(key.substring(topic.length() + 1), members);
            }
        });
        return Optional.of(shares);
    }

    /** Appends a record. Returns where. */
    public long append(String topic, int partition, byte[] record) {
        List<Runnable> told;
        long offset;
        synchronized (this) {
            offset = logs(topic)[partition].append(clock.wallMillis(), record);
            told = watchers.getOrDefault(topic, List.of());
        }
        told.forEach(Runnable::run);
        return offset;
    }

    /**
     * Reads on in each of these partitions from the given offset, or from what is new if it is negative.
     *
     * @param group whose member must own the partitions, where reads are fenced; null for one who reads as nobody's member
     */
    public synchronized Batch read(String topic, @Nullable String group, String member, Map<Integer, Long> from) {
        var records = new ArrayList<Read>();
        var next = new TreeMap<Integer, Long>();
        var owned = group == null ? Set.<Integer>of() : owned(topic, group, member);
        from.forEach((partition, offset) -> {
            if (group == null || !fenced || owned.contains(partition)) {
                next.put(partition, logs(topic)[partition].read(partition, offset, records));
            }
        });
        return new Batch(records, next);
    }

    /** Returns the offset of the next record of a partition. */
    public synchronized long end(String topic, int partition) {
        return logs(topic)[partition].next;
    }

    /** Returns the number of partitions of a topic, which is made with so many if it is not there. */
    public synchronized int partitions(String topic, int wanted) {
        return topics.computeIfAbsent(topic, name -> {
                    var logs = new Log[wanted];
                    for (var i = 0; i < wanted; i++) {
                        logs[i] = new Log();
                    }
                    return logs;
                })
                .length;
    }

    /** Runs this whenever something is appended, on the thread that does. */
    synchronized Runnable watch(String topic, Runnable watcher) {
        watchers.computeIfAbsent(topic, name -> new CopyOnWriteArrayList<>()).add(watcher);
        return () -> unwatch(topic, watcher);
    }

    private synchronized void unwatch(String topic, Runnable watcher) {
        watchers.getOrDefault(topic, new ArrayList<>()).remove(watcher);
    }

    private Set<Integer> owned(String topic, String group, String member) {
        var present = group(topic, group);
        present.expire(clock.nanos());
        return present.of(member);
    }

    private Group group(String topic, String group) {
        var partitions = logs(topic).length;
        return groups.computeIfAbsent(topic + '/' + group, name -> new Group(partitions));
    }

    private Log[] logs(String topic) {
        var logs = topics.get(topic);
        if (logs == null) {
            throw new IllegalStateException("no topic " + topic);
        }
        return logs;
    }

    private static final class Log {
        private final List<Read> records = new ArrayList<>();
        private long first;
        private long next;

        private long append(long millis, byte[] record) {
            records.add(new Read(0, next, millis, record));
            if (records.size() > LONGEST_LOG) {
                records.subList(0, LONGEST_LOG / 2).clear();
                first += LONGEST_LOG / 2;
            }
            return next++;
        }

        private long read(int partition, long offset, List<Read> into) {
            var from = offset < 0 ? next : Math.max(first, offset);
            var below = Math.min(next, from + MOST_RECORDS);
            for (var i = from; i < below; i++) {
                var read = records.get((int) (i - first));
                into.add(new Read(partition, read.offset, read.writtenMillis, read.record));
            }
            return Math.max(from, below);
        }
    }

    private static final class Member {
        private final int weight;
        private final long sessionNanos;
        private long heardNanos;

        private Member(int weight, Duration session) {
            this.weight = weight;
            sessionNanos = session.toNanos();
        }
    }

    private static final class Group {
        private final Map<String, Member> members = new TreeMap<>();
        private final @Nullable String[] owners;
        private final boolean[] moving;
        private boolean changed;

        private Group(int partitions) {
            owners = new @Nullable String[partitions];
            moving = new boolean[partitions];
        }

        private void expire(long nanos) {
            changed |= members.values().removeIf(member -> nanos - member.heardNanos > member.sessionNanos);
            if (changed) {
                balance();
            }
        }

        /** What is to move on, and its owner has no longer, is nobody's. */
        private void letGo(String member, Set<Integer> has) {
            for (var i = 0; i < owners.length; i++) {
                if (moving[i] && member.equals(owners[i]) && !has.contains(i)) {
                    owners[i] = null;
                    moving[i] = false;
                    changed = true;
                }
            }
        }

        private void balance() {
            if (!changed) {
                return;
            }
            changed = false;
            for (var i = 0; i < owners.length; i++) {
                if (owners[i] != null && !members.containsKey(owners[i])) {
                    owners[i] = null;
                    moving[i] = false;
                }
            }
            if (members.isEmpty()) {
                return;
            }
            var weights = new HashMap<String, Integer>();
            members.forEach((name, member) -> weights.put(name, member.weight));
            var targets = Balance.assign(weights, owners);
            for (var i = 0; i < owners.length; i++) {
                if (owners[i] == null) {
                    owners[i] = targets[i];
                } else {
                    moving[i] = !targets[i].equals(owners[i]);
                }
            }
        }

        /** Returns what a member should have: not what is to move on. */
        private Set<Integer> of(String member) {
            var partitions = new HashSet<Integer>();
            for (var i = 0; i < owners.length; i++) {
                if (member.equals(owners[i]) && !moving[i]) {
                    partitions.add(i);
                }
            }
            return new TreeSet<>(partitions);
        }
    }
}
