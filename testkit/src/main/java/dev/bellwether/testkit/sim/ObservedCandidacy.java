package dev.bellwether.testkit.sim;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.Departure;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.LeaderTask;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.LeadershipListener;
import dev.bellwether.Mandate;
import dev.bellwether.Phase;
import dev.bellwether.Status;
import dev.bellwether.Watch;
import dev.bellwether.spi.Claim;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A candidacy under observation: the real one, but for what waits; and what it was seen to do. */
final class ObservedCandidacy implements Candidacy {
    private final World world;
    private final SimProcess process;
    private final String election;
    private final CandidacyConfig config;
    private @Nullable Candidacy real;

    // What the invariants know of it.
    private long token;
    private boolean valid;
    private long validUntil;
    private boolean unheard; // the listener has not yet returned from the end of the mandate
    private int runningSteps;
    private long threwToken; // of the last step that threw, and when it did
    private long threwNanos;
    private long stepsBegun;
    private long stepsToken;
    private long beganNanos;
    private boolean toldAcquired;
    private boolean toldRevoked;
    private boolean toldTheEnd;
    private long toldToken;
    private boolean aside; // was told to
    private int endsBefore;
    private boolean endedBefore;

    ObservedCandidacy(World world, SimProcess process, String election, CandidacyConfig config, String name) {
        this.world = world;
        this.process = process;
        this.election = election;
        var builder = config.toBuilder().executor(process.workers());
        var candidate = config.candidateOrNew();
        if (!candidate.equals(config.candidateOrNew())) {
            builder.candidate(name); // none was set, and what core makes up is another in each run
        }
        config.listener().ifPresent(listener -> builder.listener(event -> hear(listener, event)));
        this.config = builder.build();
    }

    /** Stands. The order matters: core may call us back at once. */
    void begin(Elections elections) {
        endsBefore = world.server().ends(election);
        endedBefore = world.server().look(election).ended();
        real = elections.stand(election, config);
        process.joined(this);
        world.invariants().joined(this);
        world.trace()
                .line(
                        process.name(),
                        "stands for \"" + election + "\" as " + real.candidate() + ": lease " + config.lease()
                                + ", renew " + config.renewInterval() + ", retry " + config.retryInterval()
                                + ", budget "
                                + config.standDownBudget() + ", drift " + config.driftBound() + ", priority "
                                + config.priority()
                                + config.standbyBackoff()
                                        .map(backoff -> ", backoff " + backoff)
                                        .orElse("")
                                + config.maxPulseInterval()
                                        .map(pulse -> ", pulse " + pulse)
                                        .orElse(""));
    }

    // ---------------------------------------------------------------- the candidacy

    private Candidacy real() {
        return Objects.requireNonNull(real);
    }

    @Override
    public String election() {
        return election;
    }

    @Override
    public String candidate() {
        return real().candidate();
    }

    @Override
    public boolean isLeader() {
        return real().isLeader();
    }

    @Override
    public Optional<Mandate> mandate() {
        return real().mandate();
    }

    @Override
    public Optional<Mandate> await(Duration timeout) throws InterruptedException {
        world.crew().await(() -> isLeader() || isClosed(), timeout);
        return mandate();
    }

    @Override
    public Watch listen(LeadershipListener listener) {
        return real().listen(listener);
    }

    @Override
    public Optional<Departure> departure() {
        return real().departure();
    }

    @Override
    public void whileLeading(LeaderTask task) {
        real().whileLeading(mandate -> {
            runStep(mandate);
            try {
                task.run(mandate);
            } catch (Exception | Error e) {
                threwToken = mandate.token();
                threwNanos = process.clock().nanos();
                throw e;
            } finally {
                process.afterwards(() -> runningSteps--);
            }
        });
    }

    @Override
    public boolean pulse(Duration timeout) throws InterruptedException {
        return real().pulse(Duration.ZERO)
                || (!timeout.isZero() && await(timeout).isPresent());
    }

    @Override
    public Status status() {
        return real().status();
    }

    @Override
    public Optional<ElectionException> failure() {
        return real().failure();
    }

    @Override
    public void proclaim(Map<String, String> metadata) {
        real().proclaim(metadata);
    }

    @Override
    public void standDown() {
        real().standDown();
    }

    @Override
    public void standAside() {
        real().standAside();
        process.loop().execute(() -> aside = true); // from when that has been carried out
    }

    @Override
    public void standAgain() {
        process.loop().execute(() -> aside = false);
        real().standAgain();
    }

    @Override
    public void resign() {
        world.trace().line(process.name(), candidate() + " resigns");
        real().resign();
    }

    @Override
    public void awaitClose() throws InterruptedException {
        while (!world.crew().await(this::isClosed, Duration.ofDays(1))) {
            // a day is as good as any
        }
        real().awaitClose(); // it returns at once, or throws what has failed
    }

    @Override
    public void close() {
        resign();
        var bound = config.standDownBudget().plus(config.renewInterval().multipliedBy(2));
        try {
            world.crew().await(this::isClosed, bound);
        } catch (InterruptedException e) {
            // as the real one does, but that the interrupt is not kept: nobody else looks for it
        }
    }

    @Override
    public String toString() {
        return candidate();
    }

    boolean isClosed() {
        return status().phase() == Phase.CLOSED;
    }

    // ---------------------------------------------------------------- what it was seen to do

    /** Core claims a seat. */
    void claims(Claim claim) {
        if (aside && election.equals(claim.election()) && candidate().equals(claim.candidate())) {
            world.violate("who was told to stand aside claims nothing", this + " claims " + claim.nonce(), null);
        }
    }

    private void runStep(Mandate mandate) {
        runningSteps++;
        var now = process.clock().nanos();
        if (!mandate.isValid()) {
            world.violate("a task begins only under a valid mandate", this + ", " + mandate, null);
        }
        if (stepsToken != mandate.token()) {
            stepsToken = mandate.token();
            stepsBegun = 0;
        }
        var interval = config.taskInterval();
        // a step may begin late, so that two are closer together; but there cannot be more of them
        if (now - beganNanos < interval.toNanos() * stepsBegun++) {
            world.violate(
                    "steps begin no closer together than the task interval",
                    "%s: the step number %d under token %d begins %s after the mandate, the interval is %s"
                            .formatted(this, stepsBegun, token, Duration.ofNanos(now - beganNanos), interval),
                    null);
        }
        var sinceThrown = now - threwNanos;
        if (threwToken == mandate.token()
                && sinceThrown < config.retryInterval().toNanos()) {
            world.violate(
                    "a task that threw runs again after the retry interval",
                    "%s: a step under token %d begins %s after one threw, the retry interval is %s"
                            .formatted(this, threwToken, Duration.ofNanos(sinceThrown), config.retryInterval()),
                    null);
        }
        if (config.listener().isPresent() && (!toldAcquired || toldToken != mandate.token())) {
            world.violate("a task begins after Acquired was told", this + ", " + mandate, null);
        }
    }

    private void hear(LeadershipListener listener, LeadershipEvent event) throws Exception {
        world.trace().line(process.name(), candidate() + " hears " + event);
        checkOrder(event);
        checkReason(event);
        try {
            listener.onEvent(event);
        } finally {
            process.afterwards(() -> {
                if (event instanceof LeadershipEvent.Revoked || event instanceof LeadershipEvent.Fenced) {
                    unheard = false;
                }
                world.trace()
                        .line(
                                process.name(),
                                candidate() + " has heard " + event.getClass().getSimpleName());
            });
        }
    }

    /**
     * Acquired, then Revoked or Fenced or both in this order; between two mandates, Following; at the end, Ended or
     * Failed.
     */
    private void checkOrder(LeadershipEvent event) {
        var right = !toldTheEnd;
        if (event instanceof LeadershipEvent.Acquired acquired) {
            right &= !toldAcquired;
            if (acquired.mandate().token() <= toldToken) {
                world.violate("tokens rise", this + " hears " + event + " after token " + toldToken, null);
            }
            toldAcquired = true;
            toldRevoked = false;
            toldToken = acquired.mandate().token();
        } else if (event instanceof LeadershipEvent.Revoked revoked) {
            right &= toldAcquired && !toldRevoked && revoked.mandate().token() == toldToken;
            toldRevoked = true;
            toldAcquired = false;
        } else if (event instanceof LeadershipEvent.Fenced fenced) {
            right &= (toldAcquired || toldRevoked) && fenced.mandate().token() == toldToken;
            toldRevoked = false;
            toldAcquired = false;
        } else if (event instanceof LeadershipEvent.Following following) {
            right &= !toldAcquired;
            toldRevoked = false;
            right &= !following.leader().equals(following.previous());
        } else if (event instanceof LeadershipEvent.Preparing) {
            right &= !toldAcquired;
        } else {
            right &= !toldAcquired;
            toldTheEnd = true;
        }
        if (!right) {
            world.violate("events come paired and in order", this + " hears " + event, null);
        }
    }

    /** Nothing ends because somebody merely said so: the store must have seen it. */
    private void checkReason(LeadershipEvent event) {
        var ended = endedBefore || world.server().ends(election) > endsBefore;
        var right = true;
        if (event instanceof LeadershipEvent.Ended) {
            right = ended;
        } else if (event instanceof LeadershipEvent.Revoked revoked) {
            right = hasReason(revoked.cause(), revoked.mandate().token(), ended);
        } else if (event instanceof LeadershipEvent.Fenced fenced) {
            right = hasReason(fenced.cause(), fenced.mandate().token(), ended);
        }
        if (!right) {
            world.violate("a notice alone ends no candidacy and no mandate", this + " hears " + event, null);
        }
    }

    private boolean hasReason(Cause cause, long led, boolean ended) {
        return switch (cause) {
            case ENDED -> ended;
            case REPLACED -> ended || world.server().look(election).token() > led;
            case REVOKED_BY_OPERATOR -> world.server().wasOrdered(election, led);
            case HANDED_OVER -> world.server().wasReady(election, led);
            default -> true;
        };
    }

    /** Looks at it, at this instant. Returns whether it leads. */
    boolean look(long now) {
        if (real().isLeader()) {
            var mandate = real().mandate();
            if (mandate.isPresent() && mandate.get().token() != token) {
                begin(mandate.get());
            } else if (!valid) {
                world.violate("a mandate that is over never holds again", this + ", token " + token, null);
            }
            var left = mandate.map(Mandate::remaining).orElse(Duration.ZERO);
            validUntil = now + process.machineClock().trueNanos(left.toNanos());
            valid = true;
        } else if (valid) {
            valid = false;
            validUntil = Math.min(validUntil, now);
            world.trace().line(process.name(), candidate() + " leads no more, token " + token);
        }
        return valid;
    }

    private void begin(Mandate mandate) {
        if (works()) {
            world.violate(
                    "two terms of one candidate never run side by side",
                    this + " leads under token " + mandate.token() + " while work under token " + token + " is running",
                    null);
        }
        if (aside) {
            world.violate(
                    "who was told to stand aside does not lead", this + " leads under token " + mandate.token(), null);
        }
        token = mandate.token();
        beganNanos = process.clock().nanos();
        unheard = config.listener().isPresent();
        world.trace().line(process.name(), candidate() + " leads, token " + token);
        world.invariants().began(this);
    }

    /** Returns whether it led when it was last looked at. */
    boolean leads() {
        return valid;
    }

    /** Returns whether work of a mandate is running, or its end yet to be heard. */
    boolean works() {
        // a turn that broke off may have ended a mandate of which nobody was ever told
        return runningSteps > 0
                || (unheard && (toldToken == token || real().failure().isEmpty()));
    }

    /** Returns until when, in true time, its last mandate was valid. */
    long validUntil() {
        return validUntil;
    }

    long token() {
        return token;
    }

    boolean isToldAcquired() {
        return toldAcquired;
    }

    SimProcess process() {
        return process;
    }

    CandidacyConfig config() {
        return config;
    }
}
