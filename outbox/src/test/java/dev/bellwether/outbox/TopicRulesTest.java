package dev.bellwether.outbox;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TopicRulesTest {
    private static final TopicRules LENIENT = new TopicRules(1, false, Long.MAX_VALUE);
    private static final byte[] BINARY = new byte[3_000];
    private static final String LINES = lines(BINARY);

    private static String lines(byte[] value) {
        List<Map.Entry<String, byte @Nullable []>> headers = List.of(Map.entry("trace", value));
        return String.valueOf(HeaderLines.write(headers));
    }

    /** As it is read, with the size of the columns. */
    private static Row row(String headers, byte[] value) {
        var size = headers.getBytes(UTF_8).length + value.length;
        return new Row(1, "e1", "t", new byte[] {1}, value, headers, -1, -1, size, false);
    }

    private static Optional<String> refuses(TopicRules rules, Row row, long maxRequestBytes) {
        return rules.refuses("t", row, maxRequestBytes, TopicRules.Codec.NONE, HeaderLines.EVENT_ID);
    }

    @Test
    void headersCountAsKafkaIsSentThemAndNotAsTheirText() {
        assertThat(LINES).as("in the table").hasSizeGreaterThan(4_000);
        assertThat(refuses(LENIENT, row(LINES, new byte[100]), 3_200)).isEmpty();
        assertThat(refuses(LENIENT, row(LINES, new byte[300]), 3_200))
                .hasValueSatisfying(reason -> assertThat(reason).contains("3306 bytes", "max.request.size", "3200"));
    }

    @Test
    void aBatchIsMeasuredWithTheHeadersAsTheyAreSent() {
        var strict = new TopicRules(1, false, 3_200);
        assertThat(refuses(strict, row(LINES, new byte[100]), Long.MAX_VALUE)).isEmpty();
        assertThat(refuses(strict, row(LINES, new byte[300]), Long.MAX_VALUE))
                .hasValueSatisfying(reason -> assertThat(reason).contains("max.message.bytes", "3200"));
    }

    @ParameterizedTest
    @CsvSource({"gzip, 1, 9", "lz4, 1, 17", "zstd, 1, 19"})
    void aBatchIsMeasuredAsTheProducerIsSetToCompress(String type, int weak, int strong) {
        var value = words(200_000);
        var large = least(value, new TopicRules.Codec(type, OptionalInt.of(weak)));
        var small = least(value, new TopicRules.Codec(type, OptionalInt.of(strong)));
        assertThat(small).as("bytes at level %s, and at %s", strong, weak).isLessThan(large);
        var set = Map.<String, Object>of(
                "compression.type", type, "compression." + type + ".level", Integer.toString(strong));
        assertThat(fits(value, small, TopicRules.Codec.of(set))).isTrue();
        assertThat(fits(value, small, new TopicRules.Codec(type, OptionalInt.of(weak))))
                .isFalse();
        assertThat(fits(value, small - 1, TopicRules.Codec.of(set))).isFalse();
    }

    /** Returns text that a codec finds the more in the harder it looks. */
    private static byte[] words(int bytes) {
        var random = new Random(7);
        var words = random.ints(400, 0, 1 << 30).mapToObj(Integer::toString).toList();
        var text = new StringBuilder();
        while (text.length() < bytes) {
            text.append(words.get(random.nextInt(words.size())));
        }
        return text.toString().getBytes(UTF_8);
    }

    private static boolean fits(byte[] value, long maxBatchBytes, TopicRules.Codec codec) {
        return new TopicRules(1, false, maxBatchBytes)
                .refuses("t", row("", value), Long.MAX_VALUE, codec, HeaderLines.EVENT_ID)
                .isEmpty();
    }

    /** Returns the least size of a batch into which it fits. */
    private static long least(byte[] value, TopicRules.Codec codec) {
        var refused = 0L;
        var fits = (long) value.length;
        while (fits - refused > 1) {
            var middle = (refused + fits) / 2;
            if (fits(value, middle, codec)) {
                fits = middle;
            } else {
                refused = middle;
            }
        }
        return fits;
    }
}
