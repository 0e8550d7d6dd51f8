package dev.bellwether.benchmarks.kafka;

import dev.bellwether.examples.Pricing;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.io.IOException;

/** Runs the pricing example on a broker of its own. */
public final class Prices {
    private Prices() {}

    /** Takes the session in milliseconds, 2,000 by default. */
    public static void main(String[] args) throws IOException, InterruptedException {
        try (var brokers = KafkaBrokers.start(1)) {
            Pricing.main(new String[] {"kafka://" + brokers.bootstrap(), args.length > 0 ? args[0] : "2000"});
        }
    }
}
