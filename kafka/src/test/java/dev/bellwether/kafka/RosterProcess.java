package dev.bellwether.kafka;

import dev.bellwether.RosterMode;
import dev.bellwether.fixtures.ChildProcess;
import dev.bellwether.testkit.Eventually;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;

/** A {@link RosterContender} in a process of its own. Thread-safe. */
final class RosterProcess implements AutoCloseable {

    /** What all members of a test share. */
    record Setting(String bootstrap, String roster, Duration lease, RosterMode mode, int partitions, int roles) {}

    /** Instants between which it led a role. */
    record Reign(String who, int role, long token, long first, long last) {}

    /** What it heard of roles, in its own words, and when we heard of that. */
    record Heard(String what, Set<Integer> roles, long nanos) {}

    /** A time in which it did not run, though nobody had stopped it or we had. */
    record Stall(long from, long to) {}

    private final String id;
    private final ChildProcess child;
    private final List<Reign> reigns = new ArrayList<>();
    private final TreeMap<Integer, Reign> open = new TreeMap<>();
    private final List<Heard> heard = new ArrayList<>();
    private final List<String> words = new ArrayList<>();
    private final List<Stall> stalls = new ArrayList<>();
    private long alive;

    RosterProcess(Setting setting, String group, String id) {
        this.id = id;
        child = ChildProcess.start(
                this::said,
                RosterContender.class,
                setting.bootstrap,
                setting.roster,
                id,
                Long.toString(setting.lease.toMillis()),
                setting.mode.name(),
                group,
                Integer.toString(setting.partitions),
                Integer.toString(setting.roles));
    }

    /** Waits until there is a value; if it was in vain, tells what the members said, and prints what they do. */
    static <T> T eventually(String what, Duration patience, List<RosterProcess> members, Supplier<Optional<T>> value) {
        try {
            return Eventually.eventually(what, patience, value);
        } catch (AssertionError e) {
            var said = members.toString();
            members.forEach(member -> member.child.tellThreads());
            members.forEach(member -> System.out.println(member.id + ":\n" + String.join("\n", member.words())));
            throw new AssertionError(e.getMessage() + "; " + said, e);
        }
    }

    private synchronized void said(String line) {
        var told = line.split(" ", -1);
        switch (told[0]) {
            case "began" -> {
                var role = Integer.parseInt(told[1]);
                var first = Long.parseLong(told[3]);
                open.put(role, new Reign(id, role, Long.parseLong(told[2]), first, first));
            }
            case "ended" -> {
                var begun = open.remove(Integer.parseInt(told[1]));
                if (begun != null) {
                    var last = Math.max(begun.first, Long.parseLong(told[3]));
                    reigns.add(new Reign(id, begun.role, begun.token, begun.first, last));
                }
            }
            case "stalled" -> stalls.add(new Stall(Long.parseLong(told[1]), Long.parseLong(told[2])));
            case "alive" -> alive = Long.parseLong(told[1]);
            default -> {
                words.add(line);
                if (told[0].equals("event") && !told[1].equals("Failed")) {
                    var roles = new TreeSet<Integer>();
                    for (var role : told[2].split(",", -1)) {
                        roles.add(Integer.parseInt(role));
                    }
                    heard.add(new Heard(told[1], roles, System.nanoTime()));
                }
            }
        }
    }

    String id() {
        return id;
    }

    /** Returns the roles that it was last known to lead. */
    synchronized Set<Integer> roles() {
        return new TreeSet<>(open.keySet());
    }

    /** Returns what it led so far; what it leads still, until it was last seen alive. */
    synchronized List<Reign> reigns() {
        var all = new ArrayList<>(reigns);
        open.values()
                .forEach(
                        each -> all.add(new Reign(id, each.role, each.token, each.first, Math.max(each.first, alive))));
        return all;
    }

    /** Returns until when all that it led is known. */
    synchronized long aliveNanos() {
        return alive;
    }

    /** Returns what it heard between the two instants. */
    synchronized List<Heard> heard(long from, long to) {
        return heard.stream()
                .filter(one -> one.nanos >= from && one.nanos <= to)
                .toList();
    }

    /** Returns when it stood still for a while, of the time between the two instants. */
    synchronized List<Stall> stalls(long from, long to) {
        return stalls.stream()
                .filter(stall -> stall.to >= from && stall.from <= to)
                .toList();
    }

    /** Returns what it said beside all that, for messages. */
    synchronized List<String> words() {
        return List.copyOf(words);
    }

    void resize(int roles) {
        child.tell("resize " + roles);
    }

    void leave() {
        child.tell("close");
    }

    boolean ends() {
        return child.ends();
    }

    /** Kills it. It leads nothing from now on. */
    void kill() {
        child.kill();
        synchronized (this) {
            reigns.addAll(reigns().subList(reigns.size(), reigns.size() + open.size()));
            open.clear();
        }
    }

    void pause() {
        child.freeze();
    }

    void resume() {
        child.thaw();
    }

    @Override
    public String toString() {
        return id + " leads " + roles().size() + " roles, said " + words() + " and complained " + child.complaints();
    }

    @Override
    public void close() {
        child.kill();
    }
}
