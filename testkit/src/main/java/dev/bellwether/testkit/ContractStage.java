package dev.bellwether.testkit;

import dev.bellwether.testkit.Infrastructure.Capability;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.ResourceAccessMode;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.api.parallel.ResourceLockTarget;

/**
 * Sets the stage for each fact, and clears it. Where JUnit runs tests side by side, facts are, but for those that
 * disturb the server of all, or count what is left on it: those are {@link AloneOnServer}.
 */
@TestMethodOrder(AloneLate.class)
@Execution(ExecutionMode.CONCURRENT)
@ResourceLock(value = AloneOnServer.SERVER, mode = ResourceAccessMode.READ, target = ResourceLockTarget.CHILDREN)
abstract class ContractStage {
    private static final int LONGEST_WORD = 24;

    /** The stage of the running test. */
    protected Stage stage;

    private TestReporter reporter;
    private final List<String> printed = new ArrayList<>();

    // JUnit calls setTheStage before anything else can look
    @SuppressWarnings("NullAway.Init")
    ContractStage() {}

    /**
     * Makes the infrastructure of one test. What is expensive, such as a server, is better started once for all of
     * them.
     */
    protected abstract Infrastructure infrastructure();

    @BeforeEach
    void setTheStage(TestInfo info, TestReporter reporter) {
        this.reporter = reporter;
        var word = info.getTestMethod().orElseThrow().getName();
        stage = new Stage(infrastructure(), word.substring(0, Math.min(word.length(), LONGEST_WORD)));
    }

    @AfterEach
    void clearTheStage() {
        requireNoDeadlock(); // before what would wait for one forever
        stage.close();
    }

    private static void requireNoDeadlock() {
        var threads = ManagementFactory.getThreadMXBean();
        var stuck = threads.findDeadlockedThreads();
        if (stuck != null) {
            throw new AssertionError(Never.mark("threads that wait for each other forever: "
                    + Arrays.toString(threads.getThreadInfo(stuck, true, true))));
        }
    }

    /** Returns what {@link #lacks} has printed in this test. */
    final List<String> printed() {
        return List.copyOf(printed);
    }

    /** Returns why the infrastructure cannot offer this, having printed it; or empty if it can. */
    final Optional<String> lacks(Capability capability) {
        var infrastructure = stage.infrastructure();
        var reason = Optional.ofNullable(infrastructure.lacks().get(capability));
        reason.ifPresent(why -> {
            var line = "not offered by " + infrastructure.describe() + ": " + capability + ", since " + why;
            reporter.publishEntry("contract", line);
            printed.add(line);
            System.out.println(line);
        });
        return reason;
    }
}
