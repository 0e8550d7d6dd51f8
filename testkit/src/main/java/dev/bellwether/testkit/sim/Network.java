package dev.bellwether.testkit.sim;

import java.util.HashMap;
import java.util.Map;

/** Carries messages between processes and the store: late, twice, out of order, or not at all. */
final class Network {
    private final World world;
    private final Map<SimProcess, Long> requestsCutUntil = new HashMap<>();
    private final Map<SimProcess, Long> answersCutUntil = new HashMap<>();

    Network(World world) {
        this.world = world;
    }

    /** Black-holes what the process sends, or what is sent to it, or both. */
    void cut(SimProcess process, boolean requests, boolean answers, long nanos) {
        var until = world.agenda().now() + nanos;
        if (requests) {
            requestsCutUntil.merge(process, until, Math::max);
        }
        if (answers) {
            answersCutUntil.merge(process, until, Math::max);
        }
    }

    void heal() {
        requestsCutUntil.clear();
        answersCutUntil.clear();
    }

    void forget(SimProcess process) {
        requestsCutUntil.remove(process);
        answersCutUntil.remove(process);
    }

    /** Carries a request of a process to the store. */
    void request(SimProcess process, String what, Runnable arrive) {
        carry(process, requestsCutUntil, what, () -> world.server().receive(what, arrive));
    }

    /** Carries an answer, or a notification, to a process. */
    void answer(SimProcess process, String what, Runnable arrive) {
        carry(process, answersCutUntil, what, () -> process.whenRunning(arrive));
    }

    private void carry(SimProcess process, Map<SimProcess, Long> cuts, String what, Runnable arrive) {
        var random = world.random();
        var copies = world.weather().duplicates(random) ? 2 : 1;
        for (var copy = 0; copy < copies; copy++) {
            if (isCut(process, cuts) || world.weather().loses(random)) {
                world.trace().line("network", "loses " + what);
                continue;
            }
            world.agenda().in(world.weather().delay(random), () -> {
                if (isCut(process, cuts)) {
                    world.trace().line("network", "loses " + what);
                } else {
                    arrive.run();
                }
            });
        }
    }

    private boolean isCut(SimProcess process, Map<SimProcess, Long> cuts) {
        var until = cuts.get(process);
        return until != null && world.agenda().now() < until;
    }
}
