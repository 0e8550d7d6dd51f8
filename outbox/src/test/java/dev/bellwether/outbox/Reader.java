package dev.bellwether.outbox;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.bellwether.testkit.Eventually;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A consumer of all partitions of some topics, from their beginning, into a {@link Ledger}. Confined to one thread. */
final class Reader implements AutoCloseable {
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final boolean committedOnly;
    private final Ledger ledger = new Ledger();
    private final Ledger deduped = new Ledger();
    private final Set<String> seen = new HashSet<>();
    private final List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();

    Reader(String bootstrap, boolean committedOnly, String... topics) {
        this.committedOnly = committedOnly;
        consumer = new KafkaConsumer<>(
                new HashMap<String, Object>(Map.of(
                        "bootstrap.servers",
                        bootstrap,
                        "isolation.level",
                        committedOnly ? "read_committed" : "read_uncommitted",
                        "auto.offset.reset",
                        "earliest")),
                new ByteArrayDeserializer(),
                new ByteArrayDeserializer());
        var partitions = List.of(topics).stream()
                .flatMap(topic -> partitions(topic).stream())
                .map(info -> new org.apache.kafka.common.TopicPartition(info.topic(), info.partition()))
                .toList();
        consumer.assign(partitions);
        consumer.seekToBeginning(partitions);
    }

    /** A topic that was just created is not yet known to all. */
    private List<PartitionInfo> partitions(String topic) {
        return Eventually.eventually("topic " + topic + " is known", Duration.ofSeconds(60), () -> {
            var found = consumer.partitionsFor(topic);
            return found == null || found.isEmpty() ? Optional.empty() : Optional.of(found);
        });
    }

    /** Reads what there is now. */
    Reader poll() {
        for (var record : consumer.poll(Duration.ofMillis(100))) {
            records.add(record);
            if (record.value() == null || record.key() == null) {
                continue;
            }
            var number = number(record);
            if (number < 0) {
                continue;
            }
            ledger.read(key(record), number);
            if (seen.add(header(record, "event-id"))) {
                deduped.read(key(record), number);
            }
        }
        return this;
    }

    /** Reads the committed records of topics until all that was written is there, and returns what is wrong. */
    static List<String> faultsOfCommitted(String bootstrap, Map<String, Integer> written, String... topics) {
        try (var reader = new Reader(bootstrap, true, topics)) {
            Eventually.eventually(
                    "all is read that was committed",
                    Duration.ofSeconds(60),
                    () -> reader.poll().ledger().isComplete(written));
            return reader.faults(written);
        }
    }

    Ledger ledger() {
        return ledger;
    }

    /**
     * Returns what is wrong; nothing if readers of committed records saw each once, and others rewinds at most.
     *
     * @param written how many numbers each key has got
     */
    List<String> faults(Map<String, Integer> written) {
        var faults = new ArrayList<>(ledger.faults(written));
        if (committedOnly) {
            faults.addAll(ledger.again());
        }
        return faults;
    }

    /** Returns what is left when each event id counts once. */
    Ledger deduped() {
        return deduped;
    }

    List<ConsumerRecord<byte[], byte[]>> records() {
        return records;
    }

    static String key(ConsumerRecord<byte[], byte[]> record) {
        return new String(record.key(), UTF_8);
    }

    /** Values are a number, and a blank and anything behind it. */
    static int number(ConsumerRecord<byte[], byte[]> record) {
        var text = new String(record.value(), 0, Math.min(12, record.value().length), UTF_8);
        var end = text.indexOf(' ');
        var digits = end < 0 ? text : text.substring(0, end);
        return digits.chars().allMatch(Character::isDigit) && !digits.isEmpty() ? Integer.parseInt(digits) : -1;
    }

    static String header(ConsumerRecord<byte[], byte[]> record, String name) {
        var header = record.headers().lastHeader(name);
        return header == null || header.value() == null ? "" : new String(header.value(), UTF_8);
    }

    @Override
    public void close() {
        consumer.close();
    }
}
