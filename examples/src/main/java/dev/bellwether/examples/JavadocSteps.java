package dev.bellwether.examples;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Mandate;
import dev.bellwether.RosterConfig;
import dev.bellwether.RosterEvent;
import dev.bellwether.TaskFailure;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.IntConsumer;

/** The code in the Javadoc of the API, which a test compares with this. */
final class JavadocSteps {
    private final Runnable warmUp;
    private final Runnable putAway;
    private final Runnable stop;

    JavadocSteps(Runnable warmUp, Runnable putAway, Runnable stop) {
        this.warmUp = warmUp;
        this.putAway = putAway;
        this.stop = stop;
    }

    void elections(Runnable settleNextBatch) throws InterruptedException {
        try (var elections = Elections.connect("jdbc:postgresql://db/app?user=app&password=${env:DB_PASSWORD}");
                var candidacy = elections.stand("billing")) {
            candidacy.whileLeading(mandate -> settleNextBatch.run());
            candidacy.awaitClose();
        }
    }

    void candidacy(Elections elections, BooleanSupplier goesOn, Runnable settleNextBatch) throws InterruptedException {
        try (var candidacy = elections.stand("billing")) {
            while (goesOn.getAsBoolean()) {
                if (candidacy.pulse(Duration.ofSeconds(1))) { // throws when the candidacy has ended
                    settleNextBatch.run();
                }
            }
        }
    }

    Candidacy settings(Elections elections, String hostName) {
        var config = CandidacyConfig.builder()
                .candidate(hostName)
                .lease(Duration.ofSeconds(5)) // how long the seat stays empty after a crash
                .standDownBudget(Duration.ofSeconds(2)) // of which so much is for ending the work
                .onTaskFailure(TaskFailure.END)
                .build();
        return elections.stand("billing", config);
    }

    Elections lazily() {
        var config = ElectionsConfig.builder()
                .connectLazily(true) // the application starts although the broker is down
                .requestTimeout(Duration.ofSeconds(2))
                .build();
        return Elections.connect("kafka://broker:9092", config);
    }

    void mandate(Mandate mandate, Connection connection, String text) throws SQLException {
        mandate.ensure(Duration.ofSeconds(2)); // throws, if less is left
        try (var update = connection.prepareStatement("UPDATE report SET text = ?, token = ? WHERE token <= ?")) {
            update.setString(1, text);
            update.setLong(2, mandate.token());
            update.setLong(3, mandate.token());
            if (update.executeUpdate() == 0) {
                throw new IllegalStateException("a later leader has written");
            }
        }
    }

    void listener(Elections elections) {
        var config = CandidacyConfig.builder()
                .lease(Duration.ofSeconds(5))
                .listener(event -> {
                    if (event instanceof LeadershipEvent.Acquired) {
                        warmUp.run();
                    } else if (event instanceof LeadershipEvent.Revoked) {
                        putAway.run(); // the successor waits until this returns
                    } else if (event instanceof LeadershipEvent.Fenced) {
                        stop.run(); // nobody waits
                    }
                })
                .build();
        elections.stand("billing", config);
    }

    boolean election(Elections elections) {
        var billing = elections.election("billing");
        var watch = billing.watch(leader -> System.out.println("leads: " + leader));
        var ordered = billing.standDown(); // false if nobody leads
        watch.close();
        return ordered;
    }

    void lock(Elections elections, Runnable report) throws InterruptedException {
        var ran = elections.lock("nightly-report").tryRun(mandate -> report.run());
        if (!ran) {
            System.out.println("another process runs it");
        }
    }

    void roster(Elections elections, IntConsumer price) throws InterruptedException {
        try (var roster = elections.roster("pricing", RosterConfig.ofRoles(1_000))) {
            roster.whileLeading((role, mandate) -> price.accept(role));
            roster.awaitClose();
        }
    }

    void rosterListener(Elections elections, Consumer<Integer> open, Consumer<Integer> close, Consumer<Integer> drop) {
        var config = RosterConfig.builder()
                .roles(1_000)
                .listener(event -> {
                    if (event instanceof RosterEvent.Gained gained) {
                        gained.roles().forEach(open);
                    } else if (event instanceof RosterEvent.Revoked revoked) {
                        revoked.roles().forEach(close); // the next leader waits until this returns
                    } else if (event instanceof RosterEvent.Fenced fenced) {
                        fenced.roles().forEach(drop); // nobody waits
                    }
                })
                .build();
        elections.roster("pricing", config);
    }
}
