package dev.bellwether.nats;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import io.nats.client.support.JsonValue;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Map;

/** Whatever somebody publishes under a key of the bucket, with whatever headers, as the server tells of it. */
class MessageFuzzTest {
    private static final List<Layout> LAYOUTS = List.of(
            Layout.of(NatsConfig.defaults()),
            Layout.of(NatsConfig.builder().choria(true).build()));

    @FuzzTest(maxDuration = "5s")
    void anyMessageCanBeRead(byte[] bytes) {
        var text = new String(bytes, StandardCharsets.UTF_8);
        var end = text.indexOf("\n\n");
        var headers = end < 0 ? "" : "NATS/1.0\r\n" + text.substring(0, end).replace("\n", "\r\n");
        var body = end < 0 ? text : text.substring(end + 2);
        var message = StoredMessage.of(
                "election",
                Map.of(
                        "hdrs", new JsonValue(encoded(headers)),
                        "data", new JsonValue(encoded(body)),
                        "seq", new JsonValue(7L),
                        "time", new JsonValue(body)));
        assertThat(message.revision()).isEqualTo(7);
        for (var layout : LAYOUTS) {
            assertThat(layout.found(message).revision()).isEqualTo(7);
            var key = layout.recordKey(body);
            key.ifPresent(one -> assertThat(layout.key(one)).isNotNull());
        }
    }

    private static String encoded(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }
}
