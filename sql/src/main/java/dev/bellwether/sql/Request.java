package dev.bellwether.sql;

import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * What somebody waits for.
 *
 * @param <T> the kind of answer
 */
sealed interface Request<T> {
    /** How long an observer's or operator's request is worth sending. */
    Duration OPERATOR_PATIENCE = Duration.ofSeconds(5);

    /** Returns the election that it is about, if it is about one; for people. */
    default String election() {
        return "";
    }

    CompletableFuture<T> answer();

    /** Returns how long it may wait to be sent, and then for its answer: beyond that nobody waits for it any more. */
    Duration patience();

    /** A claim. */
    record Acquire(Claim claim, CompletableFuture<Answer> answer) implements Request<Answer> {
        @Override
        public String election() {
            return claim.election();
        }

        @Override
        public Duration patience() {
            return claim.lease().dividedBy(3);
        }
    }

    /** A lease to be extended. */
    record Renew(Lease lease, CompletableFuture<Answer> answer) implements Request<Answer> {
        @Override
        public String election() {
            return lease.claim().election();
        }

        @Override
        public Duration patience() {
            return lease.claim().lease().dividedBy(3);
        }
    }

    /** A seat to be vacated. */
    record Release(Claim claim, CompletableFuture<Answer> answer) implements Request<Answer> {
        @Override
        public String election() {
            return claim.election();
        }

        @Override
        public Duration patience() {
            return claim.lease();
        }
    }

    /** A seat to be read. */
    record Read(String election, CompletableFuture<View> answer) implements Request<View> {
        @Override
        public Duration patience() {
            return OPERATOR_PATIENCE;
        }
    }

    /** An order to be carried out. */
    record Command(String election, Order order, long bornNanos, CompletableFuture<Boolean> answer)
            implements Request<Boolean> {
        @Override
        public Duration patience() {
            return OPERATOR_PATIENCE;
        }
    }

    /** A note to be laid over a seat. */
    record Note(
            String election,
            long token,
            String expected,
            String note,
            long bornNanos,
            CompletableFuture<Boolean> answer)
            implements Request<Boolean> {
        @Override
        public Duration patience() {
            return OPERATOR_PATIENCE;
        }
    }

    /** All names to be read. */
    record Names(CompletableFuture<List<String>> answer) implements Request<List<String>> {
        @Override
        public Duration patience() {
            return OPERATOR_PATIENCE;
        }
    }

    /** A seat to be read for those who watch it. */
    record Look(String election, CompletableFuture<Boolean> answer) implements Request<Boolean> {
        @Override
        public Duration patience() {
            return OPERATOR_PATIENCE;
        }
    }

    /** A probe to be sent to the listening connection. The answer is which process of the server has sent it. */
    record Probe(CompletableFuture<Integer> answer) implements Request<Integer> {
        @Override
        public Duration patience() {
            return OPERATOR_PATIENCE;
        }
    }
}
