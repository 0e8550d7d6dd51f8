package dev.bellwether.examples;

import dev.bellwether.Elections;
import dev.bellwether.Mandate;
import dev.bellwether.kafka.KafkaElections;
import java.util.Map;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/** The code of the page about Kafka. */
final class KafkaSteps {
    private KafkaSteps() {}

    static void lead(FirstSteps.Ledger ledger) throws InterruptedException {
        // tag::connect
        try (var elections = Elections.connect("kafka://broker1:9092,broker2:9092");
                var candidacy = elections.stand("billing")) {
            candidacy.whileLeading(mandate -> ledger.settle(mandate.token()));
            candidacy.awaitClose();
        }
        // end::connect
    }

    @SuppressWarnings("FutureReturnValueIgnored") // the commit waits for what was sent, and fails if that did
    static void write(Mandate mandate, Map<String, Object> properties) {
        // tag::fenced-producer
        var strings = new StringSerializer();
        try (var out = KafkaElections.fencedProducer(mandate, properties, strings, strings)) {
            out.beginTransaction();
            out.send(new ProducerRecord<>("invoices", "42", "settled"));
            out.commitTransaction(); // fails if a later leader has made its own producer
        }
        // end::fenced-producer
    }
}
