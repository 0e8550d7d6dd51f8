package dev.bellwether.kafka;

import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.time.Duration;
import java.util.Map;

/** Elections by the log of a topic, as the contract wants them. */
class LogInfrastructure extends KafkaInfrastructure {
    /** So long nobody leads in a topic that is new. */
    private static final Duration LONGEST = Duration.ofSeconds(20);

    private static final String TOPIC = "contract-log";

    LogInfrastructure(KafkaBrokers brokers) {
        this(brokers, TOPIC, LONGEST);
    }

    /** Waits until the topic of the contract is no longer new: until then nobody is told who leads, or stands. */
    static void awaitSettled(KafkaBrokers brokers) {
        KafkaInfrastructure.warm(brokers, query(TOPIC, LONGEST), LONGEST);
    }

    LogInfrastructure(KafkaBrokers brokers, String topic, Duration longestLease) {
        super(brokers, query(topic, longestLease));
    }

    /** Returns what is put behind the addresses for such elections. */
    static String query(String topic, Duration longestLease) {
        return "?by=log&topic=" + topic + "&longest.lease=" + longestLease.toMillis() + "ms";
    }

    @Override
    public Map<Capability, String> lacks() {
        return Map.of();
    }

    @Override
    public String describe() {
        return super.describe() + ", by the log";
    }

    @Override
    public Duration longLease() {
        return LONGEST;
    }

    /** A fact may have a topic of its own, in which nobody leads until the longest lease is over. */
    @Override
    public Duration patience() {
        return super.patience().plus(LONGEST);
    }

    /** The log says who leads to who asks it. */
    @Override
    public boolean asks() {
        return true;
    }

    /** There are no groups. */
    @Override
    public Map<String, Long> leftovers() {
        return Map.of();
    }

    @Override
    public int cycles() {
        return 500;
    }
}
