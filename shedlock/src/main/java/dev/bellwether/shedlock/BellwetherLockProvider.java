package dev.bellwether.shedlock;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.HeldLock;
import dev.bellwether.LockConfig;
import dev.bellwether.Mandate;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Function;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.LockException;

/**
 * Gives ShedLock its locks from the elections of any backend: each is the {@link dev.bellwether.RunLock} of its name.
 *
 * <ul>
 *   <li>The lease is renewed while the task runs, and frees the lock of a process that died: a crash costs the lease,
 *       by default ten seconds, however long {@code lockAtMostFor} is. So you need not guess it: make it long.
 *   <li>{@code lockAtMostFor} is a limit for the run of a process that lives. After it the lock is given back although
 *       the task runs on, as ShedLock promises, with a warning; the mandate is over, and a guard refuses its token.
 *   <li>{@code lockAtLeastFor} is {@link LockConfig.Builder#atLeast}, with the limits that are described there.
 *   <li>The task gets its mandate, and so its token, from {@link #mandate}.
 * </ul>
 *
 * <p>The infrastructure answers whether the lock is free. If it does not answer, {@link #lock} throws
 * {@link dev.bellwether.UnavailableException}, and the task does not run.
 *
 * <p>Thread-safe. The elections are yours to close, after the schedulers.
 */
public final class BellwetherLockProvider implements ExtensibleLockProvider {
    private final Elections elections;
    private final Function<String, LockConfig> configs;

    /** Locks with the default lease of ten seconds. */
    public BellwetherLockProvider(Elections elections) {
        this(elections, CandidacyConfig.defaults());
    }

    /** Locks with settings of your own: the lease, the candidate id, metadata, and so on. */
    public BellwetherLockProvider(Elections elections, CandidacyConfig candidacy) {
        this.elections = elections;
        var config = LockConfig.builder().candidacy(candidacy).build();
        configs = name -> config;
    }

    /** Locks with settings of your own for each name. They are asked for whenever a lock is tried. */
    public BellwetherLockProvider(Elections elections, Function<String, CandidacyConfig> candidacies) {
        this.elections = elections;
        configs =
                name -> LockConfig.builder().candidacy(candidacies.apply(name)).build();
    }

    @Override
    public Optional<SimpleLock> lock(LockConfiguration configuration) {
        Optional<HeldLock> held;
        try {
            var name = configuration.getName();
            held = elections.lock(name, configs.apply(name)).tryLock().lock();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LockException(
                    "interrupted while waiting for the answer whether lock \"" + configuration.getName() + "\" is free",
                    e);
        }
        if (held.isPresent() && LimitedLock.isTooLate(configuration)) { // the answer took longer than the lock may
            held.get().release(Duration.ZERO);
            return Optional.empty();
        }
        return held.map(lock -> limited(configuration, new LockedRun(lock)));
    }

    private static SimpleLock limited(LockConfiguration configuration, LockedRun run) {
        try {
            MandatesHere.add(run);
            return new LimitedLock(configuration, run);
        } catch (RuntimeException | Error e) { // no thread for a timer: nobody would ever give it back
            try {
                run.unlock(Duration.ZERO);
            } catch (RuntimeException | Error another) {
                e.addSuppressed(another);
            }
            throw e;
        }
    }

    /**
     * Returns a provider of locks that are those of an old provider and of a next one at once, to move from ShedLock's
     * table to elections: first all processes have the old provider; then, process by process, this; then, process by
     * process, the next one. No two processes have a lock at once, as far as both providers keep what they promise.
     *
     * <p>A lock can be extended if those of both can.
     */
    public static LockProvider jointly(LockProvider old, BellwetherLockProvider next) {
        return new JointLockProvider(old, next);
    }

    /**
     * Returns the mandate of the lock that this thread has taken, the last one if they are nested; empty outside of a
     * locked task. It may be over: then {@link Mandate#ensure} throws.
     */
    public static Optional<Mandate> mandate() {
        return MandatesHere.last();
    }

    @Override
    public String toString() {
        return "locks by " + elections;
    }
}
