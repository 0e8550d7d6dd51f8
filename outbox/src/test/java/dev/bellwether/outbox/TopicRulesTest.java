package dev.bellwether.outbox;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

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
        return rules.refuses("t", row, maxRequestBytes, "none", HeaderLines.EVENT_ID);
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
}
