package dev.bellwether.internal.lock;

import dev.bellwether.ElectionException;
import dev.bellwether.LockAnswer;
import dev.bellwether.LockConfig;
import dev.bellwether.LockTask;
import dev.bellwether.RunLock;
import dev.bellwether.spi.Durations;
import java.time.Duration;
import java.util.Optional;

/** A lock that stands for its seat whenever somebody tries it. Immutable. */
public final class CandidacyLock implements RunLock {
    private final String name;
    private final LockConfig config;
    private final LockHost host;

    public CandidacyLock(String name, LockConfig config, LockHost host) {
        this.name = name;
        this.config = config;
        this.host = host;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public LockAnswer tryLock(Duration wait) throws InterruptedException {
        var attempt = attempt(wait);
        return attempt.isTaken() ? new LockAnswer(Optional.of(attempt), Optional.empty()) : attempt.refusal();
    }

    @Override
    public <E extends Exception> boolean tryRun(Duration wait, LockTask<E> task) throws E, InterruptedException {
        var attempt = attempt(wait);
        if (!attempt.isTaken()) {
            attempt.refusal(); // throws if that is no answer
            return false;
        }
        return attempt.run(task);
    }

    private LockAttempt attempt(Duration wait) throws InterruptedException {
        if (wait.isNegative()) {
            throw new ElectionException("the time to wait for " + this + " is " + Durations.show(wait)
                    + ": it must be zero, to try once, or longer");
        }
        var attempt = new LockAttempt(name, config, host);
        attempt.begin();
        attempt.await(wait);
        return attempt;
    }

    @Override
    public String toString() {
        return "lock \"" + name + "\" on " + host.describe();
    }
}
