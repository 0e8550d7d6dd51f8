package dev.bellwether.examples;

import dev.bellwether.outbox.Inbox;
import dev.bellwether.outbox.Message;
import dev.bellwether.outbox.Outbox;
import dev.bellwether.outbox.OutboxRelay;
import dev.bellwether.outbox.OutboxTable;
import dev.bellwether.outbox.RelayConfig;
import dev.bellwether.sql.SqlElections;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;
import javax.sql.DataSource;

/** How messages get into an outbox, and out of it. */
final class OutboxSteps {
    private OutboxSteps() {}

    static void stash(Connection connection) throws SQLException {
        // tag::stash
        connection.setAutoCommit(false);
        // … change your data, having locked the row of the order …
        Outbox.of(OutboxTable.named("outbox"))
                .stash(connection, Message.of("orders", "order-42", "{\"status\":\"paid\"}"));
        connection.commit();
        // end::stash
    }

    static Outbox traced(Supplier<Map<String, String>> currentSpan) {
        // tag::trace
        var outbox = Outbox.of(OutboxTable.named("outbox"))
                .withContext(currentSpan); // such as traceparent=00-0af7…-01, asked for at each stash
        // end::trace
        return outbox;
    }

    static void handle(Connection connection, String eventId, Runnable ship) throws SQLException {
        // tag::inbox
        connection.setAutoCommit(false);
        var inbox = Inbox.of("shipping"); // the consumer group, for example
        inbox.once(connection, eventId, () -> {
            ship.run(); // changes data over this connection
        });
        connection.commit(); // and roll back if anything throws
        // end::inbox
    }

    static void forget(DataSource dataSource) throws SQLException {
        // tag::forget
        Inbox.of("shipping").forget(dataSource, Duration.ofDays(8)); // say, once an hour
        // end::forget
    }

    static OutboxRelay leaseRow(DataSource dataSource, RelayConfig config) {
        // tag::lease-row
        var elections = SqlElections.using(dataSource);
        var relay = OutboxRelay.start(dataSource, config, elections);
        // end::lease-row
        return relay;
    }

    static void relay(DataSource dataSource, CountDownLatch stop) throws InterruptedException {
        // tag::relay
        var config = RelayConfig.named("orders")
                .table(OutboxTable.named("outbox"))
                .producer(Map.of("bootstrap.servers", "broker:9092"))
                .build();
        var relay = OutboxRelay.start(dataSource, config);
        stop.await();
        relay.close();
        // end::relay
    }
}
