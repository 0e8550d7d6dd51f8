package dev.bellwether.outbox;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.URI;
import java.time.Instant;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class MessageTest {
    private static final Instant TIME = Instant.parse("2026-03-01T10:15:30.5Z");

    @Test
    void aCloudEventHasTheIdOfTheEventAndKeepsItInAContext() {
        var id = UUID.randomUUID();
        var message = Message.to("orders")
                .cloudEvent(URI.create("/billing"), "order.placed", TIME)
                .eventId(id)
                .header("content-type", "application/json")
                .build()
                .with(Map.of("traceparent", "00-1"));
        var headers = message.headers().stream()
                .collect(Collectors.toMap(
                        Map.Entry::getKey, header -> new String(Objects.requireNonNull(header.getValue()), UTF_8)));
        assertThat(headers)
                .containsOnly(
                        Map.entry("ce_specversion", "1.0"),
                        Map.entry("ce_id", id.toString()),
                        Map.entry("ce_source", "/billing"),
                        Map.entry("ce_type", "order.placed"),
                        Map.entry("ce_time", "2026-03-01T10:15:30.500Z"),
                        Map.entry("content-type", "application/json"),
                        Map.entry("traceparent", "00-1"));
    }

    @Test
    void eachMessageOfABuilderIsACloudEventOfItsOwn() {
        var builder = Message.to("orders").cloudEvent(URI.create("/billing"), "order.placed", TIME);
        assertThat(builder.build().headers()).hasSize(5);
        assertThat(builder.build().headers()).hasSize(5);
    }

    @Test
    void aCloudEventWithoutSourceOrTypeIsRefused() {
        var builder = Message.to("orders");
        assertThatThrownBy(() -> builder.cloudEvent(URI.create(""), "order.placed", TIME))
                .hasMessageContaining("/billing");
        assertThatThrownBy(() -> builder.cloudEvent(URI.create("/billing"), "", TIME))
                .hasMessageContaining("com.example.OrderPlaced");
    }

    @Test
    void aTimeBefore1970IsRefusedSinceKafkaHasNone() {
        var builder = Message.to("orders").timestamp(Instant.EPOCH);
        assertThatThrownBy(() -> builder.timestamp(Instant.EPOCH.minusMillis(1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("1969-12-31T23:59:59.999Z");
    }
}
