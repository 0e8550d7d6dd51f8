package dev.bellwether.outbox;

/**
 * How records that name no partition get one. It must be that of all who write to the topic, or a key is in two
 * partitions.
 */
public enum Partitioning {
    /** As Kafka's client for Java does it: murmur2 of the key. */
    MURMUR2,
    /** As librdkafka does it unless told otherwise ({@code consistent_random}), and so goharvest: CRC-32 of the key. */
    CRC32
}
