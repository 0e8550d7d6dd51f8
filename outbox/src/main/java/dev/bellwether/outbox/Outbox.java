package dev.bellwether.outbox;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Where applications put messages: into a table, within the transaction that changes their data, so that both happen or
 * neither.
 *
 * <p>Thread-safe; the connection is the caller's, and so is its transaction. The one condition for order: transactions
 * that write messages of one key must take turns before, by a lock of the row that the key stands for, or by checking
 * its version. If two write for one key at the same time, there is no order to keep.
 */
public final class Outbox {
    private final OutboxTable table;
    private final Supplier<Map<String, String>> context;
    private final WakeUp wakeUp;
    private final Map<String, Store> stores = new ConcurrentHashMap<>();

    /** Whether an idle relay is woken. */
    private enum WakeUp {
        ALWAYS,
        UNLESS_TRANSACTIONS_CAN_BE_PREPARED,
        NEVER
    }

    private Outbox(OutboxTable table, Supplier<Map<String, String>> context, WakeUp wakeUp) {
        this.table = table;
        this.context = context;
        this.wakeUp = wakeUp;
    }

    /** Writes into this table. */
    public static Outbox of(OutboxTable table) {
        return new Outbox(table, Map::of, WakeUp.UNLESS_TRANSACTIONS_CAN_BE_PREPARED);
    }

    /**
     * Returns an outbox that adds these headers to each message. It asks for them when the message is written: for
     * example {@code traceparent} and {@code tracestate} of the present span, so that the trace continues at the
     * consumer.
     */
    public Outbox withContext(Supplier<Map<String, String>> headers) {
        return new Outbox(table, headers, wakeUp);
    }

    /**
     * Returns an outbox that wakes an idle relay, or does not: by a NOTIFY of PostgreSQL, when the transaction commits.
     * While a relay is busy, or none runs, there is no NOTIFY. On MariaDB and MySQL this changes nothing.
     *
     * <p>PostgreSQL refuses to prepare a transaction (PREPARE TRANSACTION, which XA uses) that has notified. So by
     * default a relay is woken only if the server allows no prepared transactions ({@code max_prepared_transactions} is
     * 0, its default). Pass true if it does, and no transaction with messages is prepared.
     */
    public Outbox withWakeUp(boolean wakeUp) {
        return new Outbox(table, context, wakeUp ? WakeUp.ALWAYS : WakeUp.NEVER);
    }

    /**
     * Writes a message, which is published if and when the transaction of this connection commits. Called twice, it
     * publishes two messages. If this throws, roll back.
     */
    public void stash(Connection connection, Message message) throws SQLException {
        stash(connection, List.of(message));
    }

    /** Writes messages in this order, in one batch; otherwise as {@link #stash(Connection, Message)}. */
    public void stash(Connection connection, Collection<Message> messages) throws SQLException {
        if (messages.isEmpty()) {
            return;
        }
        var store = store(connection);
        store.stash(connection, inContext(messages), announcement(store));
    }

    private @Nullable String announcement(Store store) {
        return wakeUp == WakeUp.NEVER
                ? null
                : store.wakeUps()
                        .map(sql -> sql.announce(wakeUp != WakeUp.ALWAYS))
                        .orElse(null);
    }

    private Collection<Message> inContext(Collection<Message> messages) {
        var headers = context.get();
        if (headers.isEmpty()) {
            return messages;
        }
        var extended = new ArrayList<Message>(messages.size());
        for (var message : messages) {
            extended.add(message.with(headers));
        }
        return extended;
    }

    private Store store(Connection connection) throws SQLException {
        var product = connection.getMetaData().getDatabaseProductName();
        var store = stores.get(product);
        if (store == null) {
            store = Store.of(connection, table);
            stores.put(product, store);
        }
        return store;
    }
}
