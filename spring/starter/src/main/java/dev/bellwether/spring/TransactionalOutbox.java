package dev.bellwether.spring;

import dev.bellwether.outbox.Message;
import dev.bellwether.outbox.Outbox;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.jdbc.core.ConnectionCallback;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.ReflectionUtils;

/**
 * Puts messages into the outbox within the transaction of the calling thread, so that they are published if and only if
 * that commits: {@code @Transactional} with JDBC, JPA or whatever else works on the application's DataSource.
 *
 * <p>Thread-safe. For the one condition of order see {@link Outbox}.
 */
public final class TransactionalOutbox {
    private static final Logger LOG = LoggerFactory.getLogger(TransactionalOutbox.class);
    private static final String AFTER_COMMIT =
            "messages were stashed after the commit of the transaction, by one of its listeners: whether they are"
                    + " published depends on the connection pool. Stash them before, or in a transaction of their"
                    + " own: @Transactional(propagation = REQUIRES_NEW)";

    /** Whether a manager of JDBC has begun a transaction on the connection. It is for subclasses of Spring's only. */
    private static final @Nullable Method IS_ACTIVE =
            ReflectionUtils.findMethod(ConnectionHolder.class, "isTransactionActive");

    static {
        if (IS_ACTIVE != null) {
            ReflectionUtils.makeAccessible(IS_ACTIVE);
        }
    }

    private final JdbcTemplate jdbc;
    private final DataSource dataSource;
    private final Outbox outbox;
    private final Runnable poke;
    private final boolean jta;

    /**
     * Makes one by hand; the starter makes one where {@code bellwether.outbox.name} is set.
     *
     * @param poke what to do when a transaction with messages has committed: such as {@code relay::poke}, so that a
     *     relay of this process looks at once
     */
    public TransactionalOutbox(DataSource dataSource, Outbox outbox, Runnable poke) {
        this(dataSource, outbox, poke, false);
    }

    private TransactionalOutbox(DataSource dataSource, Outbox outbox, Runnable poke, boolean jta) {
        this.jta = jta;
        this.dataSource = dataSource;
        this.outbox = outbox;
        this.poke = poke;
        jdbc = new JdbcTemplate(dataSource);
    }

    /**
     * Returns an outbox for transactions of JTA, or for others. With JTA, connections enlist in the transaction by
     * themselves, so Spring does not know of which DataSource a transaction is. Then a connection with auto-commit off
     * is taken for one of the transaction: use only transactions of JTA, and a DataSource that enlists. The starter
     * passes true if the application has a {@code JtaTransactionManager}.
     */
    public TransactionalOutbox withJta(boolean jta) {
        return new TransactionalOutbox(dataSource, outbox, poke, jta);
    }

    /**
     * Writes a message, if and when the transaction of this thread commits.
     *
     * @throws IllegalStateException if there is none, or it is of another DataSource
     * @throws org.springframework.dao.DataAccessException if the database refuses it
     */
    public void stash(Message message) {
        stash(List.of(message));
    }

    /** Writes messages in this order, in one batch: as {@link #stash(Message)}. */
    public void stash(Collection<Message> messages) {
        if (!TransactionSynchronizationManager.isActualTransactionActive()
                || !TransactionSynchronizationManager.isSynchronizationActive()) { // a listener after completion
            throw new IllegalStateException(
                    "messages were stashed outside a transaction: put @Transactional on the method"
                            + " that changes the data, so that both are committed or neither");
        }
        var transaction = transaction();
        if (transaction.committed) {
            throw new IllegalStateException(AFTER_COMMIT);
        }
        if (!jta && !isBound()) {
            throw notOfTransaction();
        }
        jdbc.execute((ConnectionCallback<Boolean>) connection -> {
            requireOfTransaction(connection);
            outbox.stash(connection, messages);
            return true;
        });
    }

    /** Returns what is called at the end of this thread's transaction. */
    private Transaction transaction() {
        for (var each : TransactionSynchronizationManager.getSynchronizations()) {
            if (each instanceof Transaction known && known.outbox() == this) {
                return known;
            }
        }
        var begun = new Transaction();
        TransactionSynchronizationManager.registerSynchronization(begun);
        return begun;
    }

    /** A transaction with messages. Confined to its thread. */
    private final class Transaction implements TransactionSynchronization {
        private boolean committed;

        TransactionalOutbox outbox() {
            return TransactionalOutbox.this;
        }

        /** First of all, so that no listener that comes later passes for one before the commit. */
        @Override
        public int getOrder() {
            return HIGHEST_PRECEDENCE;
        }

        @Override
        public void afterCommit() {
            committed = true;
            poke.run();
        }

        /** Who stashes first in a listener after the commit is told so late, since nothing shows it before. */
        @Override
        public void afterCompletion(int status) {
            if (status == STATUS_COMMITTED && !committed) {
                LOG.error(AFTER_COMMIT);
            }
        }
    }

    /** In a transaction of another DataSource, Spring gives us a connection that commits each statement. */
    private void requireOfTransaction(Connection connection) throws SQLException {
        if (connection.getAutoCommit()) {
            throw notOfTransaction();
        }
    }

    /**
     * Returns whether the manager of this thread's transaction holds a connection of ours. If not, Spring borrows one
     * at its first use, and gives it back uncommitted: with auto-commit off, nothing else would show that.
     */
    private boolean isBound() {
        var source = dataSource;
        while (source instanceof TransactionAwareDataSourceProxy proxy) {
            source = Objects.requireNonNull(proxy.getTargetDataSource());
        }
        return TransactionSynchronizationManager.getResource(source) instanceof ConnectionHolder holder
                && !isBorrowed(holder);
    }

    /** Returns whether it was not a manager that bound it, but Spring at a first use. Managers of JPA set no flag. */
    private static boolean isBorrowed(ConnectionHolder holder) {
        return holder.isSynchronizedWithTransaction()
                && IS_ACTIVE != null
                && Boolean.FALSE.equals(ReflectionUtils.invokeMethod(IS_ACTIVE, holder));
    }

    private IllegalStateException notOfTransaction() {
        return new IllegalStateException(
                "the transaction of this thread is over, or not one of the outbox's DataSource, " + dataSource
                        + ": messages would be committed apart from the data, or not at all. Use the transaction"
                        + " manager of that DataSource; with JTA, TransactionalOutbox.withJta(true)");
    }
}
