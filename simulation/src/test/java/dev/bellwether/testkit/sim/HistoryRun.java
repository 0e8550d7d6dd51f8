package dev.bellwether.testkit.sim;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.LeadershipEvent;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.LongFunction;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Writes down what happens to one seat in a simulated world, as a sequence of TLA+: see {@code docs/spec/Trace.tla}. Runs
 * over whatever core this class was loaded with, and speaks in types of the JDK only, since its caller knows another
 * core.
 */
public final class HistoryRun implements LongFunction<String[]> {
    static final Duration LEASE = Duration.ofSeconds(3);
    static final Duration BUDGET = Duration.ofMillis(600);
    private static final Pattern SENDS = Pattern.compile("sends write of \\[bell\\] over (\\d+): (.*)", Pattern.DOTALL);
    private static final Pattern DONE = Pattern.compile(
            "\\w+'s write of \\[bell\\] over (\\d+): (.*): Written\\[done=true, revision=\\d+, written=\\S+\\]",
            Pattern.DOTALL);

    /** For reflection. */
    public HistoryRun() {}

    /** Returns the history of this seed, the names of those in it, and how many mandates it has. */
    @Override
    public String[] apply(long seed) {
        var simulation = Simulation.of(() -> HistoryRun::stand)
                .lease(LEASE)
                .storm(6)
                .processes(2, 3)
                .overRecords()
                .without(
                        Fault.STAND_DOWN,
                        Fault.END,
                        Fault.CLONE,
                        Fault.FORGED_NOTICE,
                        Fault.THROW,
                        Fault.CLOCK_JUMP,
                        Fault.STORE_CLOCK);
        var world = new World(seed, simulation, true);
        var history = new SeatHistory(world);
        world.trace().readBy(history::read);
        world.run(); // what it finds itself is not the question here
        return new String[] {history.text(), String.join(",", history.names), String.valueOf(history.mandates.size())};
    }

    private static void stand(SimProcess process) {
        process.elections()
                .stand(
                        "bell",
                        CandidacyConfig.builder()
                                .lease(LEASE)
                                .standDownBudget(BUDGET)
                                .listener(event -> {
                                    if (event instanceof LeadershipEvent.Revoked) {
                                        try {
                                            process.sleep(Duration.ofMillis(200));
                                        } catch (InterruptedException e) {
                                            Thread.currentThread().interrupt();
                                        }
                                    }
                                })
                                .build());
    }

    /** Sent when, and what event that is once it is known that it was carried out. */
    private record Sent(int place, String event) {}

    private static final class SeatHistory {
        private final World world;
        private final List<String> events = new ArrayList<>();
        private final Map<String, Sent> sent = new HashMap<>(); // by what was written, which is like no other
        private final Set<String> names = new LinkedHashSet<>();
        private final Map<String, long[]> first = new HashMap<>(); // readings, by process
        private final Set<String> mandates = new HashSet<>();
        private String leaders = "";
        private long lastTold = Long.MIN_VALUE / 2;

        private SeatHistory(World world) {
            this.world = world;
        }

        private void read(String who, String what) {
            var sends = SENDS.matcher(what);
            var done = DONE.matcher(what);
            if (sends.matches()) {
                time();
                sent.put(sends.group(2), new Sent(events.size(), sent(who, sends.group(1), fields(sends.group(2)))));
                events.add(""); // not told if it is never carried out
            } else if (done.matches()) {
                look(true);
                time();
                var began = sent.get(done.group(2));
                if (began == null) {
                    throw new IllegalStateException("carried out, and never sent: " + what);
                }
                events.set(began.place, began.event);
                var fields = fields(done.group(2));
                events.add("[e |-> \"done\", c |-> \"" + what.substring(0, what.indexOf('\'')) + "\", over |-> "
                        + done.group(1) + ", lease |-> " + lease(fields) + ", vacant |-> "
                        + (isVacant(fields) ? "TRUE" : "FALSE") + "]");
            }
            look(false);
        }

        private static String sent(String who, String over, Map<String, String> fields) {
            var lease = lease(fields);
            var what = isVacant(fields)
                    ? isMove(fields) ? "move" : "release"
                    : fields.getOrDefault("token", "0").equals("0")
                            ? "claim"
                            : lease < LEASE.toNanos() / 1_000 ? "concede" : "renew";
            return "[e |-> \"send\", c |-> \"" + who + "\", what |-> \"" + what + "\", over |-> " + over
                    + ", lease |-> " + lease + "]";
        }

        private static Map<String, String> fields(String text) {
            return Pattern.compile("&")
                    .splitAsStream(text)
                    .map(field -> field.split("=", 2))
                    .filter(field -> field.length == 2)
                    .collect(Collectors.toMap(field -> field[0], field -> field[1], (one, other) -> one));
        }

        private static boolean isVacant(Map<String, String> fields) {
            return "vacant".equals(fields.get("state"));
        }

        /** Whether it leaves a seat vacant that was: there are no orders here that could lie over it. */
        private static boolean isMove(Map<String, String> fields) {
            return fields.containsKey("origin")
                    || fields.getOrDefault("token", "0").equals("0");
        }

        private static long lease(Map<String, String> fields) {
            return Long.parseLong(fields.getOrDefault("lease_nanos", "0")) / 1_000;
        }

        /** Tells who says that it leads: when that changes, and now and then. */
        private void look(boolean anyway) {
            var leading = world.processes().stream()
                    .filter(process -> process.candidacies().stream().anyMatch(Candidacy::isLeader))
                    .map(SimProcess::name)
                    .map(name -> '"' + name + '"')
                    .sorted()
                    .collect(Collectors.joining(", "));
            var now = world.agenda().now();
            var newcomer = world.processes().stream().anyMatch(process -> !names.contains(process.name()));
            if (leading.equals(leaders)
                    && !newcomer
                    && (!anyway || leading.isEmpty())
                    && now - lastTold < LEASE.toNanos() / 20) {
                return;
            }
            leaders = leading;
            lastTold = now;
            for (var process : world.processes()) {
                for (var candidacy : process.candidacies()) {
                    candidacy.mandate().ifPresent(mandate -> mandates.add(process.name() + mandate.token()));
                }
            }
            time(); // where nobody leads, too: somebody may watch the record from now on
            if (!leading.isEmpty()) {
                events.add("[e |-> \"leads\", who |-> {" + leading + "}]");
            }
        }

        private void time() {
            var readings = new TreeMap<String, String>();
            var now = world.agenda().now() / 1_000;
            for (var process : world.processes()) {
                var clock = process.clock();
                var nanos = clock.nanos();
                var millis = clock.wallMillis();
                var began = first.computeIfAbsent(process.name(), name -> new long[] {nanos, millis});
                names.add(process.name());
                readings.put(
                        process.name(),
                        "[mono |-> " + (nanos - began[0]) / 1_000 + ", wall |-> " + (millis - began[1]) * 1_000 + "]");
            }
            if (!readings.isEmpty()) {
                events.add("[e |-> \"time\", t |-> " + now + ", at |-> ["
                        + readings.entrySet().stream()
                                .map(entry -> entry.getKey() + " |-> " + entry.getValue())
                                .collect(Collectors.joining(", "))
                        + "]]");
            }
        }

        private String text() {
            return events.stream().filter(event -> !event.isEmpty()).collect(Collectors.joining(",\n", "<<\n", "\n>>"));
        }
    }
}
