package dev.bellwether.examples;

// tag::quick-start
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import java.time.Duration;

public final class QuickStart {
    public static void main(String[] args) throws InterruptedException {
        try (var elections = Elections.connect(args[0])) { // jdbc:postgresql://…, kafka://…
            // on SIGTERM and Ctrl-C: waits for the work under way, then hands the seat over
            Runtime.getRuntime().addShutdownHook(new Thread(elections::close));

            var config = CandidacyConfig.builder()
                    .taskInterval(Duration.ofSeconds(1))
                    .build();
            var candidacy = elections.stand("billing", config);
            // called once a second, only while this process leads
            candidacy.whileLeading(mandate -> {
                mandate.ensure(Duration.ofSeconds(1)); // throws if less is left
                System.out.println("settling the next batch under token " + mandate.token());
            });
            candidacy.awaitClose();
        }
    }
}
// end::quick-start
