package dev.bellwether.outbox;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.utils.ByteBufferOutputStream;
import org.apache.kafka.common.utils.Utils;
import org.jspecify.annotations.Nullable;

/**
 * What a topic takes, as its brokers say. Tells only of records that are certainly refused: for all others the answer
 * is to send them. Immutable.
 *
 * @param partitions how many it has
 * @param compacted whether records need a key
 * @param maxBatchBytes how large a batch may be, compressed
 */
record TopicRules(int partitions, boolean compacted, long maxBatchBytes) {
    /**
     * How a producer compresses.
     *
     * @param level empty for that of the codec itself
     */
    record Codec(String type, OptionalInt level) {
        static final Codec NONE = new Codec("none", OptionalInt.empty());

        /** Returns the one of a producer's properties. */
        static Codec of(Map<String, Object> producer) {
            var type = String.valueOf(producer.getOrDefault("compression.type", ProducerSettings.COMPRESSION));
            var level = producer.get("compression." + type + ".level");
            return new Codec(
                    type,
                    level == null
                            ? OptionalInt.empty()
                            : OptionalInt.of(Integer.parseInt(level.toString().strip())));
        }

        private Compression codec() {
            if (level.isEmpty()) {
                return Compression.of(type).build();
            }
            return switch (type) {
                case "gzip" -> Compression.gzip().level(level.getAsInt()).build();
                case "lz4" -> Compression.lz4().level(level.getAsInt()).build();
                case "zstd" -> Compression.zstd().level(level.getAsInt()).build();
                default -> Compression.of(type).build(); // has no levels
            };
        }
    }

    private static final int BATCH_OVERHEAD = 61;
    /** More than the lengths and offsets of a single record take. */
    private static final int SLACK = 64;

    private static final byte MAGIC = 2;

    /**
     * Returns why the row cannot be published.
     *
     * @param maxRequestBytes how large the producer lets a record be, uncompressed
     * @param eventIdHeader the header that is the relay's own
     */
    Optional<String> refuses(String topic, Row row, long maxRequestBytes, Codec compression, String eventIdHeader) {
        if (row.partition() >= partitions) {
            return Optional.of(
                    "topic " + topic + " has " + partitions + " partitions, none of them is " + row.partition());
        }
        if (compacted && row.key() == null) {
            return Optional.of("topic " + topic + " is compacted, and takes no record without a key");
        }
        List<Header> headers;
        try {
            headers = row.headers() == null ? List.of() : HeaderLines.read(row.headers(), eventIdHeader);
        } catch (IllegalArgumentException e) {
            return Optional.of("its headers are malformed: " + e.getMessage());
        }
        var bytes = length(row.key()) + length(row.value()) + bytes(headers);
        if (bytes > maxRequestBytes) {
            return Optional.of("RecordTooLarge: its " + bytes + " bytes are more than the producer's max.request.size, "
                    + maxRequestBytes);
        }
        if (bytes > maxBatchBytes && compressed(row, headers, compression) > maxBatchBytes) {
            return Optional.of("RecordTooLarge: even compressed it is larger than max.message.bytes of topic " + topic
                    + ", " + maxBatchBytes);
        }
        return Optional.empty();
    }

    private static long bytes(List<Header> headers) {
        return headers.stream()
                .mapToLong(header -> Utils.utf8Length(header.key()) + length(header.value()))
                .sum();
    }

    private static long length(byte @Nullable [] bytes) {
        return bytes == null ? 0 : bytes.length;
    }

    /** Returns no more than a batch with this record alone would take; zero if nobody knows. */
    private static long compressed(Row row, List<Header> headers, Codec compression) {
        var buffer = new ByteBufferOutputStream(1 << 16);
        try (var out = compression.codec().wrapForOutput(buffer, MAGIC)) {
            if (row.key() != null) {
                out.write(row.key());
            }
            if (row.value() != null) {
                out.write(row.value());
            }
            for (var header : headers) {
                out.write(header.key().getBytes(UTF_8));
                if (header.value() != null) {
                    out.write(header.value());
                }
            }
        } catch (IOException
                | RuntimeException
                | LinkageError e) { // another client than ours, or a codec that is not there
            return 0;
        }
        return (long) buffer.position() + BATCH_OVERHEAD - SLACK;
    }
}
