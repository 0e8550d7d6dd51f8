package dev.bellwether.memory;

import dev.bellwether.spi.Balance;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.RosterTerms;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
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
 * A partitioned log and the groups over it, in the memory of one process: what a broker is to rosters, and the model of
 * one.
 *
 * <p>Thread-safe: one lock. Every answer is there at once. Members that are silent for a session are thrown out
 * whenever anybody asks anything. A partition that is to move on is first taken from its owner, which says when it has
 * let go of it.
 */
public final class MemoryGroups {
    private static final int MOST_RECORDS = 500;
    /** What is older is forgotten, as by retention: a member that joins reads from what is left. */
    private static final int LONGEST_LOG = 20_000;

    private final Clock clock;
    private final boolean fenced;
    private final Map<String, Group> groups = new HashMap<>();
    private final Map<String, Log[]> topics = new HashMap<>();
    private final Map<String, Integer> made = new HashMap<>(); // how often each topic was made again
    private final Map<String, List<Runnable>> watchers = new HashMap<>();

    /**
     * What a member says of itself: {@code has} is what it owns as far as it knows, {@code highest} the highest token
     * that it knows.
     */
    record Heartbeat(
            String member,
            int weight,
            Duration session,
            RosterTerms terms,
            Set<Integer> has,
            boolean joins,
            long highest) {}

    /**
     * Where a member stands in its group, the highest token that any member of it knows, and why it may not be one, if
     * so.
     */
    public record Membership(boolean member, Set<Integer> partitions, long highest, Optional<String> refusal) {}

    /** A record, and where it was read. */
    @SuppressWarnings("ArrayRecordComponent") // nobody compares them
    public record Read(int partition, long offset, long writtenMillis, byte[] record) {}

    /**
     * What was read, and from where to read on, by partition.
     *
     * @param anew partitions in which the place that was asked for is gone, since the records there were deleted
     * @param topic tells the topic from others of its name, before and after it
     */
    public record Batch(List<Read> records, Map<Integer, Long> next, Set<Integer> anew, int topic) {}

    /**
     * Makes one that runs by the given clock.
     *
     * @param fenced whether records are read by none but the owner of a partition, apart from those who read all of
     *     partition 0
     */
    public MemoryGroups(Clock clock, boolean fenced) {
        this.clock = clock;
        this.fenced = fenced;
    }

    boolean fenced() {
        return fenced;
    }

    /**
     * Says that a member is alive, and which partitions it has; joins it first if asked to. Returns what it should
     * have.
     */
    synchronized Membership heartbeat(String topic, String group, Heartbeat said) {
        var present = group(topic, group);
        present.expire(clock.nanos());
        var beating = present.members.get(said.member);
        if (beating == null) {
            if (!said.joins) {
                return new Membership(false, Set.of(), 0, Optional.empty());
            }
            var refusal = present.members.values().stream()
                    .flatMap(member -> said.terms.refusal(member.terms).stream())
                    .findFirst();
            if (refusal.isPresent()) {
                return new Membership(false, Set.of(), 0, refusal);
            }
            beating = new Member(said.weight, said.session, said.terms);
            present.members.put(said.member, beating);
            present.changed = true;
        }
        beating.heardNanos = clock.nanos();
        beating.highest = said.highest;
        present.letGo(said.member, said.has);
        present.balance();
        var highest = present.members.values().stream()
                .mapToLong(member -> member.highest)
                .max()
                .orElse(0);
        return new Membership(true, there(topic, present.of(said.member)), highest, Optional.empty());
    }

    /** A group deals out the partitions that there are. */
    private Set<Integer> there(String topic, Set<Integer> partitions) {
        partitions.removeIf(partition -> partition >= logs(topic).length);
        return partitions;
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

    /** Returns what each group of a topic has given to which member, by name; empty if there is no such topic. */
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

    /** Appends a record. Returns where; negative if there is no such partition any more. */
    public long append(String topic, int partition, byte[] record) {
        List<Runnable> told;
        long offset;
        synchronized (this) {
            var logs = logs(topic);
            if (partition >= logs.length) {
                return -1; // as of a topic that has fewer: the record is lost
            }
            offset = logs[partition].append(clock.wallMillis(), record);
            told = watchers.getOrDefault(topic, List.of());
        }
        told.forEach(Runnable::run);
        return offset;
    }

    /**
     * Reads on in each of these partitions from the given offset, or from what is new if it is negative.
     *
     * @param group whose member must own the partitions, where reads are fenced; null for one who reads as nobody's
     *     member
     */
    public synchronized Batch read(String topic, @Nullable String group, String member, Map<Integer, Long> from) {
        var records = new ArrayList<Read>();
        var next = new TreeMap<Integer, Long>();
        var anew = new TreeSet<Integer>();
        var logs = logs(topic);
        var owned = group == null ? Set.<Integer>of() : owned(topic, group, member);
        from.forEach((partition, offset) -> {
            if (partition < logs.length && (group == null || !fenced || owned.contains(partition))) {
                var log = logs[partition];
                if (offset > log.next || (offset > 0 && offset < log.first)) {
                    anew.add(partition);
                    next.put(partition, log.first);
                } else {
                    next.put(partition, log.read(partition, offset, records));
                }
            }
        });
        return new Batch(records, next, anew, made.getOrDefault(topic, 0));
    }

    /** Returns the offset of the next record of a partition. */
    public synchronized long end(String topic, int partition) {
        return logs(topic)[partition].next;
    }

    /** Returns the number of partitions of a topic, which is made with so many if it is not there. */
    public synchronized int partitions(String topic, int wanted) {
        return topics.computeIfAbsent(topic, name -> logs(wanted)).length;
    }

    /**
     * Deletes a topic and creates it again, with so many partitions: groups and what they know stay. Fewer is what a
     * broker makes by itself.
     */
    public synchronized void recreate(String topic, int partitions) {
        topics.put(topic, logs(partitions));
        made.merge(topic, 1, Integer::sum);
    }

    /** Adds partitions to a topic that has fewer. */
    public synchronized void grow(String topic, int partitions) {
        var grown = logs(partitions);
        var before = logs(topic);
        System.arraycopy(before, 0, grown, 0, before.length);
        topics.put(topic, grown);
    }

    /** Deletes the oldest records of a partition but for so many, as retention does, or an administrator. */
    public synchronized void forget(String topic, int partition, int left) {
        logs(topic)[partition].forget(left);
    }

    private static Log[] logs(int partitions) {
        var logs = new Log[partitions];
        for (var i = 0; i < partitions; i++) {
            logs[i] = new Log();
        }
        return logs;
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
        return there(topic, present.of(member));
    }

    private Group group(String topic, String group) {
        var partitions = logs(topic).length;
        var present = groups.computeIfAbsent(topic + '/' + group, name -> new Group(partitions));
        present.grow(partitions);
        return present;
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
                forget(LONGEST_LOG / 2);
            }
            return next++;
        }

        private void forget(int left) {
            var many = Math.max(0, records.size() - left);
            records.subList(0, many).clear();
            first += many;
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
        private final RosterTerms terms;
        private long heardNanos;
        private long highest;

        private Member(int weight, Duration session, RosterTerms terms) {
            this.weight = weight;
            this.terms = terms;
            sessionNanos = session.toNanos();
        }
    }

    private static final class Group {
        private final Map<String, Member> members = new TreeMap<>();
        private @Nullable String[] owners;
        private boolean[] moving;
        private boolean changed;

        private Group(int partitions) {
            owners = new @Nullable String[partitions];
            moving = new boolean[partitions];
        }

        private void grow(int partitions) {
            if (partitions > owners.length) {
                owners = Arrays.copyOf(owners, partitions);
                moving = Arrays.copyOf(moving, partitions);
                changed = true;
            }
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
