package dev.bellwether.outbox;

import org.jspecify.annotations.Nullable;

/**
 * A row of the table as it was read.
 *
 * @param size bytes of value and headers; negative if the row is of another shard, and only its id is known
 * @param deferred whether these were left in the table, for being large, and have to be fetched, or are too large for
 *     that
 * @param partition negative if none is given
 * @param timestamp in milliseconds; -1 if none is given
 */
@SuppressWarnings("ArrayRecordComponent") // nobody compares rows or writes into them
record Row(
        long id,
        String eventId,
        String topic,
        byte @Nullable [] key,
        byte @Nullable [] value,
        @Nullable String headers,
        int partition,
        long timestamp,
        long size,
        boolean deferred) {
    private static final long OVERHEAD = 200;

    /** A row of which another shard takes care: no text tells it from others, since a row may have any. */
    static Row ofAnotherShard(long id) {
        return new Row(id, "", "", null, null, null, -1, -1, -1, false);
    }

    boolean isOfAnotherShard() {
        return size < 0;
    }

    /** Returns about what it takes in memory. */
    long weight() {
        return size + OVERHEAD + (key == null ? 0 : key.length);
    }

    Row with(byte @Nullable [] fetchedValue, @Nullable String fetchedHeaders) {
        return new Row(id, eventId, topic, key, fetchedValue, fetchedHeaders, partition, timestamp, size, false);
    }

    /** Returns the same for another topic. */
    Row in(String other) {
        return new Row(id, eventId, other, key, value, headers, partition, timestamp, size, deferred);
    }

    /** Returns whose order it belongs to; rows without a key stand for themselves. */
    Object orderKey() {
        return key == null ? (Object) id : new TopicKey(topic, java.nio.ByteBuffer.wrap(key));
    }

    /** A topic and a key in it. */
    record TopicKey(String topic, java.nio.ByteBuffer key) {}

    /** Names it for people. */
    String describe() {
        return "row " + id + " (event " + eventId + ", topic " + topic + ", " + size + " bytes)";
    }
}
