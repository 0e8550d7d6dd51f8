package dev.bellwether.examples;

import dev.bellwether.Elections;
import dev.bellwether.RosterConfig;
import dev.bellwether.RosterMode;
import dev.bellwether.UnavailableException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.locks.LockSupport;

/**
 * The example of the NELI paper: prices of many instruments are published by a few processes, one for each instrument
 * at a time, while processes are killed, leave and come. Counts prices that were published twice, and those that nobody
 * published: once with exclusive leaders, once with overlapping ones, once with two groups of them.
 *
 * <p>{@code java dev.bellwether.examples.Pricing kafka://localhost:9092 2000} prints it, with a session of two seconds,
 * which takes {@code group.min.session.timeout.ms=2000} (or less) on the brokers.
 */
public final class Pricing {
    static final int INSTRUMENTS = 200;
    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private Pricing() {}

    /** How prices are published, and by which groups. */
    enum Layout {
        EXCLUSIVE(RosterMode.EXCLUSIVE),
        OVERLAPPING(RosterMode.OVERLAPPING),
        TWO_GROUPS(RosterMode.OVERLAPPING);

        private final RosterMode mode;

        Layout(RosterMode mode) {
            this.mode = mode;
        }

        private List<String> groups() {
            return this == TWO_GROUPS ? List.of("a", "b") : List.of("main");
        }
    }

    /**
     * What became of the prices of all instruments.
     *
     * @param ticks prices that were due
     * @param twice of these, published by two or more
     * @param missing of these, published by nobody
     * @param longest the longest time for which an instrument had no price, in milliseconds
     */
    record Figures(Layout layout, long ticks, long twice, long missing, long longest) {
        @Override
        public String toString() {
            return String.format(
                    "%-12s %,7d prices due; twice %,6d (%.2f %%); missing %,6d (%.2f %%); the longest gap of one"
                            + " instrument %,d ms",
                    layout, ticks, twice, 100.0 * twice / ticks, missing, 100.0 * missing / ticks, longest);
        }
    }

    /**
     * Takes the URI of the brokers, and the session in milliseconds; or, for a process that we start, what it is to be.
     */
    public static void main(String[] args) throws IOException, InterruptedException {
        if (args.length == 5) {
            var session = Duration.ofMillis(Long.parseLong(args[4]));
            while (true) {
                try {
                    publish(args[0], args[1], Layout.valueOf(args[2]), args[3], session);
                    return;
                } catch (UnavailableException e) {
                    System.err.println(e.getMessage() + "; trying again");
                }
            }
        }
        var session = Duration.ofMillis(args.length > 1 ? Long.parseLong(args[1]) : 2_000);
        for (var layout : Layout.values()) {
            System.out.println(run(args[0], layout, session));
        }
    }

    // tag::publish
    /**
     * A process that publishes the prices of the instruments it leads; a price is the number of a tick, the same in
     * every process.
     */
    private static void publish(String uri, String roster, Layout layout, String group, Duration session)
            throws IOException {
        var config = RosterConfig.builder()
                .mode(layout.mode)
                .group(group)
                .groups(layout.groups().size())
                .roles(INSTRUMENTS)
                .lease(session)
                .taskInterval(Duration.ofNanos(TICK_NANOS / 4))
                .build();
        var published = new long[INSTRUMENTS];
        try (var elections = Elections.connect(uri);
                var prices = elections.roster(roster, config)) {
            prices.whileLeading((instrument, mandate) -> {
                var tick = System.nanoTime() / TICK_NANOS;
                if (tick > published[instrument]) { // one task at a time for each instrument
                    published[instrument] = tick;
                    System.out.println(instrument + " " + tick);
                }
            });
            while (System.in.read() >= 0) {
                // until anybody who started us wants us to leave
            }
        }
    }
    // end::publish

    /**
     * Runs one layout: three processes for each group; one is killed, another takes its place, one leaves. Then a whole
     * group is killed, if there is another.
     */
    static Figures run(String uri, Layout layout, Duration session) throws IOException, InterruptedException {
        var feed = new Feed();
        var roster = "pricing-" + UUID.randomUUID();
        var processes = new ArrayList<Publisher>();
        try {
            for (var group : layout.groups()) {
                for (var i = 0; i < 3; i++) {
                    processes.add(new Publisher(processes.size(), uri, roster, layout, group, session, feed));
                }
            }
            feed.awaitAll(processes.size());
            var from = System.nanoTime() / TICK_NANOS;
            pass(session);
            processes.get(0).kill();
            pass(session.multipliedBy(3));
            processes.add(new Publisher(
                    processes.size(), uri, roster, layout, layout.groups().get(0), session, feed));
            pass(session.multipliedBy(3));
            processes.get(1).leave();
            pass(session.multipliedBy(3));
            if (layout.groups().size() > 1) {
                processes.get(2).kill();
                processes.get(processes.size() - 1).kill();
                pass(session.multipliedBy(3));
            }
            var to = System.nanoTime() / TICK_NANOS;
            pass(Duration.ofSeconds(1)); // for what is still on its way
            return feed.figures(layout, from, to);
        } finally {
            processes.forEach(Publisher::kill);
        }
    }

    private static void pass(Duration time) {
        var until = System.nanoTime() + time.toNanos();
        while (System.nanoTime() - until < 0) {
            LockSupport.parkNanos(until - System.nanoTime());
        }
    }

    /** Where the prices of all processes come together. Thread-safe. */
    private static final class Feed {
        private static final int MOST_TICKS = 6_000;

        private final long first = System.nanoTime() / TICK_NANOS;
        private final AtomicIntegerArray published = new AtomicIntegerArray(INSTRUMENTS * MOST_TICKS);
        private final AtomicIntegerArray publishers = new AtomicIntegerArray(64);

        private void price(int publisher, String line) {
            var words = line.split(" ", -1);
            var tick = Long.parseLong(words[1]) - first;
            if (tick >= 0 && tick < MOST_TICKS) {
                published.incrementAndGet((int) tick * INSTRUMENTS + Integer.parseInt(words[0]));
                publishers.set(publisher, 1);
            }
        }

        /** Waits until so many have published something, and every instrument has had a price lately. */
        private void awaitAll(int count) {
            var until = System.nanoTime() + TimeUnit.MINUTES.toNanos(2);
            while (System.nanoTime() - until < 0) {
                var tick = (int) (System.nanoTime() / TICK_NANOS - first - 5);
                var all = true;
                for (var i = 0; i < count; i++) {
                    all &= publishers.get(i) > 0;
                }
                for (var i = 0; all && tick >= 0 && i < INSTRUMENTS; i++) {
                    all = published.get(tick * INSTRUMENTS + i) > 0;
                }
                if (all && tick >= 0) {
                    return;
                }
                pass(Duration.ofMillis(50));
            }
            throw new IllegalStateException("not all of " + count + " processes publish");
        }

        private Figures figures(Layout layout, long from, long to) {
            var twice = 0L;
            var missing = 0L;
            var longest = 0L;
            for (var instrument = 0; instrument < INSTRUMENTS; instrument++) {
                var gap = 0L;
                for (var tick = (int) (from - first); tick < to - first; tick++) {
                    var count = published.get(tick * INSTRUMENTS + instrument);
                    twice += count > layout.groups().size() ? 1 : 0;
                    missing += count == 0 ? 1 : 0;
                    gap = count == 0 ? gap + 1 : 0;
                    longest = Math.max(longest, gap);
                }
            }
            return new Figures(
                    layout,
                    (to - from) * INSTRUMENTS,
                    twice,
                    missing,
                    TimeUnit.NANOSECONDS.toMillis(longest * TICK_NANOS));
        }
    }

    /** A process of this program. */
    private static final class Publisher {
        private final Process process;

        private Publisher(
                int number, String uri, String roster, Layout layout, String group, Duration session, Feed feed)
                throws IOException {
            var java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
            process = new ProcessBuilder(
                            java,
                            "-Xmx128m",
                            "-XX:TieredStopAtLevel=1",
                            "-XX:+UseSerialGC",
                            "-cp",
                            System.getProperty("java.class.path"),
                            Pricing.class.getName(),
                            uri,
                            roster,
                            layout.name(),
                            group,
                            Long.toString(session.toMillis()))
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            var reader = new Thread(() -> read(number, feed), "publisher-" + number);
            reader.setDaemon(true);
            reader.start();
        }

        private void read(int number, Feed feed) {
            try (BufferedReader output = process.inputReader(StandardCharsets.UTF_8)) {
                output.lines().forEach(line -> feed.price(number, line));
            } catch (IOException | UncheckedIOException e) {
                // it was killed
            }
        }

        private void leave() throws IOException {
            process.getOutputStream().close();
        }

        private void kill() {
            process.destroyForcibly();
        }
    }
}
