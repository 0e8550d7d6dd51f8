package dev.bellwether.examples;

// tag::quick-start
import dev.bellwether.Elections;
import java.time.Duration;

public final class QuickStart {
    public static void main(String[] args) throws InterruptedException {
        try (var elections = Elections.connect(args[0]); // jdbc:postgresql://…, kafka://…
                var candidacy = elections.stand("billing")) {

            // called again and again, only while this process leads
            candidacy.whileLeading(mandate -> {
                mandate.ensure(Duration.ofSeconds(1)); // throws if less is left
                System.out.println("settling the next batch under token " + mandate.token());
            });
            candidacy.awaitClose();
        }
    }
}
// end::quick-start
