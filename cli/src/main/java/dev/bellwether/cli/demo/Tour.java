package dev.bellwether.cli.demo;

import dev.bellwether.testkit.faults.History;
import dev.bellwether.testkit.faults.ObservedTerm;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * The demo without a person: does to the election what people would, and checks what follows. Confined to one thread.
 */
final class Tour {
    private static final int SLOW_TRIES = 5;
    private static final int FREEZE_TRIES = 5;

    private final DemoCluster scene;
    private final Engine engine;
    private final Duration lease;
    private final Consumer<Step> told;
    private final List<Step> steps = new ArrayList<>();

    /**
     * What was done and what came of it.
     *
     * @param vacancyNanos for how long nobody led; empty if somebody always did
     * @param complaint what is off, if anything
     */
    record Step(String name, String outcome, Optional<Long> vacancyNanos, Optional<String> complaint) {}

    /** What is off, in words. */
    private static final class Off extends Exception {
        private static final long serialVersionUID = 1;

        private Off(String message) {
            super(message);
        }
    }

    private interface Play {
        Outcome play() throws IOException, InterruptedException, Off;
    }

    private record Outcome(String text, Optional<Long> vacancyNanos) {}

    Tour(DemoCluster scene, Engine engine, Duration lease, Consumer<Step> told) {
        this.scene = scene;
        this.engine = engine;
        this.lease = lease;
        this.told = told;
    }

    /** Plays to the end, or to the first step that is off. */
    List<Step> play() throws IOException, InterruptedException {
        var network = !engine.links(0).isEmpty();
        var ok = step("elect", this::elect)
                && step("hand over", this::handOver)
                && step("kill", this::kill)
                && step("freeze", this::freeze);
        if (network) {
            ok = ok
                    && step("cut off", () -> cut(Action.CUT))
                    && step("cut off one way", () -> cut(Action.CUT_ANSWERS))
                    && step("slow", this::slow);
        }
        if (engine.server().isPresent()) {
            ok = ok && step(engine.server().get().name() + " restart", this::restart);
        }
        return steps;
    }

    private boolean step(String name, Play play) throws IOException, InterruptedException {
        Step step;
        try {
            var outcome = play.play();
            var overlap = scene.overlapNanos();
            step = new Step(
                    name,
                    outcome.text,
                    outcome.vacancyNanos,
                    overlap == 0 ? Optional.empty() : Optional.of("two led at once for " + overlap + " ns"));
        } catch (Off e) {
            step = new Step(name, "", Optional.empty(), Optional.of(String.valueOf(e.getMessage())));
        } catch (IllegalStateException e) {
            step = new Step(name, "", Optional.empty(), Optional.of("refused: " + e.getMessage()));
        }
        steps.add(step);
        told.accept(step);
        return step.complaint.isEmpty();
    }

    private Outcome elect() throws InterruptedException, Off {
        await("nobody was elected", () -> scene.leading().isPresent());
        return new Outcome(leads(leader()), Optional.empty());
    }

    private Outcome handOver() throws IOException, InterruptedException, Off {
        everybodyStands();
        var before = leader();
        scene.act(Action.RESIGN, Optional.of(before.candidate()));
        return successor(before);
    }

    private Outcome kill() throws IOException, InterruptedException, Off {
        everybodyStands();
        var before = leader();
        scene.act(Action.KILL, Optional.of(before.candidate()));
        var outcome = successor(before);
        scene.act(Action.START, Optional.of(before.candidate()));
        return outcome;
    }

    /** Who is frozen within a transaction keeps a file locked, and nobody can be elected: then once more. */
    private Outcome freeze() throws IOException, InterruptedException, Off {
        for (var tries = 1; ; tries++) {
            everybodyStands();
            var before = leader();
            scene.act(Action.FREEZE, Optional.of(before.candidate()));
            if (engine.server().isPresent()
                    || tries == FREEZE_TRIES
                    || isSoWithin(lease.multipliedBy(4), () -> isLedByAnother(before))) {
                var outcome = successor(before);
                scene.act(Action.THAW, Optional.of(before.candidate()));
                return outcome;
            }
            scene.act(Action.THAW, Optional.of(before.candidate()));
        }
    }

    private boolean isLedByAnother(ObservedTerm before) {
        return scene.leading()
                .filter(now -> !now.candidate().equals(before.candidate()))
                .isPresent();
    }

    private Outcome cut(Action how) throws IOException, InterruptedException, Off {
        everybodyStands();
        var before = leader();
        scene.act(how, Optional.of(before.candidate()));
        var outcome = successor(before);
        scene.act(Action.HEAL, Optional.of(before.candidate()));
        return outcome;
    }

    /** A slow network is no reason to change the leader. A machine that has no time for it is: then once more. */
    private Outcome slow() throws IOException, InterruptedException, Off {
        for (var tries = 0; tries < SLOW_TRIES; tries++) {
            everybodyStands();
            var before = leader();
            scene.act(Action.SLOW, Optional.of(before.candidate()));
            TimeUnit.NANOSECONDS.sleep(lease.toNanos() * 3 / 2); // long enough that it must have renewed
            scene.look();
            var same = scene.leading().filter(now -> now.key().equals(before.key()));
            scene.act(Action.HEAL, Optional.of(before.candidate()));
            if (same.isPresent()) {
                return new Outcome(
                        leads(before) + " all the while, with " + DemoCluster.SLOW.toMillis() + " ms more each way",
                        Optional.empty());
            }
        }
        throw new Off("the leader is another, " + SLOW_TRIES + " times, although its network was only slow");
    }

    private Outcome restart() throws IOException, InterruptedException, Off {
        everybodyStands();
        var before = leader();
        var vacancies = scene.vacancies().size();
        scene.act(Action.KILL_SERVER, Optional.empty());
        scene.act(Action.START_SERVER, Optional.empty());
        await("the server does not serve", () -> scene.server() == DemoCluster.ServerState.SERVING);
        // A restart that is over before the lease changes nothing; after a longer one somebody leads again, maybe the
        // same.
        TimeUnit.NANOSECONDS.sleep(lease.toNanos());
        await("nobody leads again", () -> scene.leading().isPresent());
        var after = leader();
        if (after.token() < before.token()) {
            throw new Off(leads(after) + ", which is lower than " + before.token());
        }
        var since = scene.vacancies();
        var vacant = since.subList(vacancies, since.size()).stream()
                .mapToLong(History.Vacancy::nanos)
                .sum();
        return new Outcome(leads(after), vacant == 0 ? Optional.empty() : Optional.of(vacant));
    }

    /** Waits until another candidate leads, with a higher token. */
    private Outcome successor(ObservedTerm before) throws InterruptedException, Off {
        // On a busy machine it may have lost and led again just before it was told.
        await(before.candidate() + " has no successor but itself", () -> isLedByAnother(before));
        var after = leader();
        if (after.token() < before.token()) {
            throw new Off(leads(after) + ", which is lower than " + before.token());
        }
        var vacancy = scene.vacancies().stream()
                .filter(one -> one.token() == after.token())
                .map(History.Vacancy::nanos)
                .findFirst();
        return new Outcome(leads(after), vacancy);
    }

    private void everybodyStands() throws InterruptedException, Off {
        await(
                "not everybody stands",
                () -> scene.standing().size() == scene.running().size()
                        && scene.leading().isPresent());
        // Who said so a moment ago may not have asked the server yet.
        TimeUnit.NANOSECONDS.sleep(lease.toNanos() / 2);
        await("nobody leads", () -> scene.leading().isPresent());
    }

    private ObservedTerm leader() throws Off {
        return scene.leading().orElseThrow(() -> new Off("nobody leads"));
    }

    private static String leads(ObservedTerm term) {
        return term.candidate() + " leads, token " + term.token();
    }

    /** Waits long: what takes too long on a busy machine is not off, only slow, and the vacancy tells. */
    private void await(String otherwise, BooleanSupplier condition) throws InterruptedException, Off {
        if (!isSoWithin(Duration.ofSeconds(60).plus(lease.multipliedBy(3)), condition)) {
            throw new Off(otherwise);
        }
    }

    private boolean isSoWithin(Duration time, BooleanSupplier condition) throws InterruptedException {
        var until = System.nanoTime() + time.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - until > 0) {
                return false;
            }
            TimeUnit.MILLISECONDS.sleep(5);
            scene.look();
        }
        return true;
    }
}
