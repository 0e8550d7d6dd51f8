package dev.bellwether.sql;

import dev.bellwether.testkit.faults.Contestant;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/**
 * A leader by a row of a table, as it is often written: each subclass with one of the usual mistakes, and one with
 * none.
 */
abstract class UsualMistake implements Contestant.Maker {
    static final String TABLE =
            "CREATE TABLE mistake (election text PRIMARY KEY, owner text, token bigint, until timestamptz)";

    private static final String INSERT =
            "INSERT INTO mistake VALUES (?, '', 0, clock_timestamp()) ON CONFLICT DO NOTHING";
    private static final String CLAIM = """
            UPDATE mistake SET token = token + (owner <> ? OR ?)::int, owner = ?,
            until = clock_timestamp() + ? * interval '1 ms'
            WHERE election = ? AND (owner = ? OR until < clock_timestamp()) RETURNING token""";
    private static final String RELEASE = "UPDATE mistake SET owner = '', until = clock_timestamp() WHERE owner = ?";

    /** It leads from the answer that said so to the next that says otherwise. */
    static final class LeadsUntilToldOtherwise extends UsualMistake {
        @Override
        boolean leads(boolean told, long deadlineNanos) {
            return told;
        }
    }

    /** It counts its lease from when the answer came. */
    static final class CountsFromTheAnswer extends UsualMistake {
        @Override
        long from(long askedNanos) {
            return System.nanoTime();
        }
    }

    /** It gives the seat back, and then ends its work. */
    static final class ReleasesBeforeItStandsDown extends UsualMistake {
        @Override
        void close(Seat seat) {
            seat.release();
            seat.endWork();
        }
    }

    /** It does none of that. */
    static final class None extends UsualMistake {}

    boolean leads(boolean told, long deadlineNanos) {
        return told && System.nanoTime() - deadlineNanos < 0;
    }

    long from(long askedNanos) {
        return askedNanos;
    }

    void close(Seat seat) {
        seat.endWork();
        seat.release();
    }

    @Override
    public Contestant stand(Contestant.Orders orders) throws SQLException {
        return new Seat(orders, this);
    }

    /** The seat of one candidate. Its thread asks again and again; who looks may be any. */
    static final class Seat implements Contestant {
        private final Contestant.Orders orders;
        private final UsualMistake mistake;
        private final String id = UUID.randomUUID().toString();
        private final Connection connection;
        private final Thread thread = new Thread(this::run, "mistake");
        private volatile boolean over;
        private final AtomicReference<State> state = new AtomicReference<>(new State(false, 0, 0));

        private record State(boolean told, long token, long deadlineNanos) {
            State ended() {
                return new State(false, token, 0);
            }
        }

        private Seat(Contestant.Orders orders, UsualMistake mistake) throws SQLException {
            this.orders = orders;
            this.mistake = mistake;
            connection = DriverManager.getConnection(orders.uri());
            try (var insert = connection.prepareStatement(INSERT)) {
                insert.setString(1, orders.election());
                insert.execute();
            }
            thread.setDaemon(true);
            thread.start();
        }

        private State state() {
            return Objects.requireNonNull(state.get());
        }

        private void run() {
            while (!over) {
                var asked = System.nanoTime();
                var before = state();
                try {
                    var token = claim(!before.told);
                    var lease = orders.lease().toNanos() * 95 / 100;
                    var next = new State(token.isPresent(), token.orElse(before.token), mistake.from(asked) + lease);
                    state.compareAndSet(before, next); // else somebody has seen it end, and it needs another token
                } catch (SQLException e) {
                    orders.faults().accept("no answer: " + e.getMessage());
                    return;
                }
                LockSupport.parkNanos(orders.lease().toNanos() / 10);
            }
        }

        private synchronized OptionalLong claim(boolean again) throws SQLException {
            try (var claim = connection.prepareStatement(CLAIM)) {
                claim.setString(1, id);
                claim.setBoolean(2, again);
                claim.setString(3, id);
                claim.setLong(4, orders.lease().toMillis());
                claim.setString(5, orders.election());
                claim.setString(6, id);
                var result = claim.executeQuery();
                return result.next() ? OptionalLong.of(result.getLong(1)) : OptionalLong.empty();
            }
        }

        private void release() {
            try (var release = connection.prepareStatement(RELEASE)) {
                release.setString(1, id);
                release.execute();
            } catch (SQLException e) {
                orders.faults().accept("not released: " + e.getMessage());
            }
        }

        /** The work ends when the application is ready for it. */
        private void endWork() {
            orders.held().run();
            state.updateAndGet(State::ended);
        }

        @Override
        public boolean isLeader() {
            var now = state();
            var leads = mistake.leads(now.told, now.deadlineNanos);
            if (now.told && !leads) {
                state.compareAndSet(now, now.ended());
            }
            return leads;
        }

        @Override
        public long token() {
            return state().token;
        }

        @Override
        public void close() {
            over = true;
            try {
                thread.join();
                mistake.close(this);
                connection.close();
            } catch (InterruptedException | SQLException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
