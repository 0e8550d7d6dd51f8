package dev.bellwether.examples;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.LockConfig;
import dev.bellwether.RunLock;
import java.io.PrintStream;
import java.time.Duration;

/** The code of the page about locks. */
final class LockSteps {
    private LockSteps() {}

    /** What a nightly report is written to. */
    interface Reports {
        Iterable<String> customers();

        void write(String customer, long token);
    }

    static void runOnce(Elections elections, Reports reports) throws InterruptedException {
        // tag::run
        var lock = elections.lock("nightly-report");
        var ran = lock.tryRun(mandate -> {
            for (var customer : reports.customers()) {
                mandate.ensure(); // throws if the lock has been lost
                reports.write(customer, mandate.token()); // a guard there refuses an older token
            }
        });
        // end::run
        System.out.println(ran ? "done" : "another process runs it");
    }

    static void waitForIt(RunLock lock, Reports reports) throws InterruptedException {
        // tag::wait
        lock.tryRun(Duration.ofMinutes(1), mandate -> reports.write("all", mandate.token()));
        // end::wait
    }

    static void tryIt(RunLock lock, Reports reports, PrintStream out) throws InterruptedException {
        // tag::try
        var answer = lock.tryLock();
        if (answer.isHeld()) {
            try (var held = answer.lock().get()) {
                reports.write("all", held.mandate().token());
            }
        } else {
            out.println("not now: " + answer.holder().orElse("somebody") + " has it");
        }
        // end::try
    }

    static RunLock keptFree(Elections elections) {
        // tag::at-least
        var config = LockConfig.builder()
                .atLeast(Duration.ofSeconds(20)) // more than the clocks can differ
                .candidacy(CandidacyConfig.ofLease(Duration.ofSeconds(20)))
                .build();
        var lock = elections.lock("nightly-report", config);
        // end::at-least
        return lock;
    }
}
