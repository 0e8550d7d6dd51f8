package dev.bellwether.kafka;

import dev.bellwether.ElectionException;
import dev.bellwether.Roster;
import dev.bellwether.RosterConfig;
import dev.bellwether.RosterEvent;
import dev.bellwether.RosterMode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

/**
 * A process that is a member of a roster, works for each role that it leads, and tells on its output from when to when
 * it found itself leading which: the first and the last instant, on the monotonic clock that all processes of a machine
 * share. Takes commands on its input, a line each, and ends with it.
 */
final class RosterContender {
    /** No role beyond this is looked at. */
    static final int MOST_ROLES = 1_500;

    private static final long ALIVE_NANOS = 20_000_000;
    private static final long STALL_NANOS = 200_000_000;

    private final AtomicBoolean over = new AtomicBoolean();
    private final LongAdder steps = new LongAdder();
    private final boolean[] leads = new boolean[MOST_ROLES];
    private final long[] tokens = new long[MOST_ROLES];
    private final long[] last = new long[MOST_ROLES];

    private RosterContender() {}

    /**
     * Takes the brokers, the roster, the member's id, the lease in milliseconds, the mode, the group, and numbers of
     * partitions and roles.
     */
    public static void main(String[] args) throws IOException, InterruptedException {
        var contender = new RosterContender();
        var mode = RosterMode.valueOf(args[4]);
        var config = RosterConfig.builder()
                .member(args[2])
                .lease(Duration.ofMillis(Long.parseLong(args[3])))
                .mode(mode)
                .group(args[5])
                .groups(mode == RosterMode.EXCLUSIVE ? 1 : 2)
                .partitions(Integer.parseInt(args[6]))
                .roles(Integer.parseInt(args[7]))
                .taskInterval(Duration.ofMillis(200))
                .parallelism(8)
                .listener(RosterContender::heard)
                .build();
        try (var elections = Contender.connect(Map.of("bootstrap.servers", args[0]))) {
            var roster = Contender.patiently("the roster is joined", () -> elections.roster(args[1], config));
            var watch = new Thread(() -> contender.watch(roster), "watch");
            watch.start();
            roster.whileLeading((role, mandate) -> contender.steps.increment());
            contender.obey(roster);
            roster.close();
            contender.over.set(true);
            watch.join();
        } catch (ElectionException e) {
            say("refused " + e.getMessage());
        }
        say("closed after " + contender.steps.sum() + " steps");
        System.exit(0);
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static void heard(RosterEvent event) {
        if (event instanceof RosterEvent.Gained gained) {
            say("event Gained " + listed(gained.roles()));
        } else if (event instanceof RosterEvent.Revoked revoked) {
            say("event Revoked " + listed(revoked.roles()));
        } else if (event instanceof RosterEvent.Fenced fenced) {
            say("event Fenced " + listed(fenced.roles()));
        } else if (event instanceof RosterEvent.Failed failed) {
            say("event Failed " + failed.error().getMessage());
        }
    }

    private static String listed(List<Integer> roles) {
        return String.join(",", roles.stream().map(String::valueOf).toList());
    }

    private void obey(Roster roster) throws IOException {
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (var line = input.readLine(); line != null && !line.equals("close"); line = input.readLine()) {
            var words = line.split(" ", -1);
            if (!words[0].equals("resize")) {
                throw new IllegalArgumentException(line);
            }
            roster.resize(Integer.parseInt(words[1]));
        }
    }

    /**
     * Says {@code began ROLE TOKEN FIRST} and {@code ended ROLE TOKEN LAST} for each run of instants, now and then
     * {@code alive NOW}, and {@code stalled FROM TO} if we did not run.
     */
    private void watch(Roster roster) {
        var told = System.nanoTime() - ALIVE_NANOS;
        var before = System.nanoTime();
        while (!over.get()) {
            var begun = System.nanoTime();
            if (begun - before > STALL_NANOS) {
                say("stalled " + before + ' ' + begun);
            }
            before = begun;
            look(roster);
            if (begun - told >= ALIVE_NANOS) {
                told = begun;
                say("alive " + begun);
            }
            LockSupport.parkNanos(1_000_000);
        }
        look(roster);
    }

    private void look(Roster roster) {
        for (var role = 0; role < MOST_ROLES; role++) {
            var before = System.nanoTime();
            var now = roster.leads(role);
            var token = now && !leads[role]
                    ? roster.mandate(role).map(it -> it.token()).orElse(0L)
                    : tokens[role];
            if (now && !leads[role]) {
                if (token == 0) {
                    continue; // over already: as if it had not been seen
                }
                tokens[role] = token;
                say("began " + role + ' ' + token + ' ' + System.nanoTime());
            } else if (!now && leads[role]) {
                say("ended " + role + ' ' + tokens[role] + ' ' + last[role]);
            }
            if (now) {
                last[role] = before;
            }
            leads[role] = now;
        }
    }
}
