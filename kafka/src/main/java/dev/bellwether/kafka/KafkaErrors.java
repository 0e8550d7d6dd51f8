package dev.bellwether.kafka;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Causes;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.apache.kafka.common.InvalidRecordException;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.ClusterAuthorizationException;
import org.apache.kafka.common.errors.GroupAuthorizationException;
import org.apache.kafka.common.errors.GroupMaxSizeReachedException;
import org.apache.kafka.common.errors.InconsistentGroupProtocolException;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.errors.InvalidGroupIdException;
import org.apache.kafka.common.errors.InvalidSessionTimeoutException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.RecordBatchTooLargeException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.TransactionalIdAuthorizationException;
import org.apache.kafka.common.errors.UnsupportedVersionException;

/** Says which errors of Kafka's clients no retry will fix, and what would. */
final class KafkaErrors {
    private KafkaErrors() {}

    /** Returns the error as our callers know it. */
    static ElectionException translated(Throwable error, Settings settings, String where) {
        return translated(error, Resources.ofElections(settings), where);
    }

    /** Returns an error that came of these resources, as our callers know it. */
    static ElectionException translated(Throwable error, Resources resources, String where) {
        return fatal(error, resources, where)
                .orElseGet(() -> new UnavailableException(
                        "no answer from " + where
                                + (error.getMessage() == null ? " in time" : ": " + error.getMessage()),
                        error));
    }

    /** Returns a stage that fails with what our callers know. */
    static <T> CompletionStage<T> translated(CompletionStage<T> stage, Settings settings, String where) {
        return stage.exceptionallyCompose(error -> {
            var cause = Causes.unwrapped(error);
            return CompletableFuture.failedStage(
                    cause instanceof ElectionException ? cause : translated(cause, settings, where));
        });
    }

    /** Returns what to tell if this error is here to stay; empty if it may pass. */
    static Optional<ElectionException> fatal(Throwable error, Settings settings, String where) {
        return fatal(error, Resources.ofElections(settings), where);
    }

    private static Optional<ElectionException> fatal(Throwable error, Resources resources, String where) {
        return right(error)
                .map(right -> "it needs " + right.words(resources) + ", which an administrator grants by\n  "
                        + command(right, resources))
                .or(() -> advice(error))
                .map(advice -> refused("refused by " + where + ": " + error.getMessage() + "; " + advice, error));
    }

    /** Rights and identities may come back; everything else that is refused will be refused again. */
    private static ElectionException refused(String message, Throwable error) {
        return error instanceof AuthorizationException || error instanceof AuthenticationException
                ? new AccessRefusedException(message, error)
                : new ElectionException(message, error);
    }

    /**
     * Returns whether a producer can go on after this error. Those that are of one record leave it as it was; most of
     * the others do not, and it does not tell.
     */
    static boolean isOfOneRecord(Throwable error) {
        return isOfItsForm(error)
                || error instanceof RetriableException
                || error instanceof InvalidRecordException
                || error instanceof InvalidTopicException
                || error instanceof TopicAuthorizationException
                || error instanceof InterruptException; // of the thread that writes
    }

    /** Returns whether the record itself is wrong, so that this says nothing of the brokers. */
    static boolean isOfItsForm(Throwable error) {
        return error instanceof RecordTooLargeException
                || error instanceof RecordBatchTooLargeException
                || error instanceof SerializationException;
    }

    /** Returns the right that is missing. */
    private static Optional<Right> right(Throwable error) {
        if (error instanceof TopicAuthorizationException) {
            return Optional.of(Right.TOPIC);
        }
        if (error instanceof GroupAuthorizationException) {
            return Optional.of(Right.GROUP);
        }
        if (error instanceof TransactionalIdAuthorizationException) {
            return Optional.of(Right.TRANSACTIONS);
        }
        if (error instanceof ClusterAuthorizationException) {
            return Optional.of(Right.TOPIC); // a producer that may write to no topic at all is told so of the cluster
        }
        return Optional.empty();
    }

    /** What candidates must be allowed to do. */
    private enum Right {
        TOPIC,
        GROUP,
        TRANSACTIONS;

        private String words(Resources resources) {
            return switch (this) {
                case TOPIC -> "READ, WRITE and DESCRIBE on the topic (an observer: READ and DESCRIBE)";
                case GROUP -> resources.group.isEmpty() ? "READ on the groups with the prefix" : "READ on the group";
                case TRANSACTIONS -> "WRITE and DESCRIBE on the transactional ids with the prefix";
            };
        }
    }

    /**
     * What a right may be missing on.
     *
     * @param group the id of a group that the user has chosen; empty for those with the prefix
     */
    record Resources(Settings settings, String topic, String group) {
        static Resources ofElections(Settings settings) {
            return new Resources(settings, settings.topic(), "");
        }
    }

    private static String command(Right right, Resources resources) {
        var settings = resources.settings;
        var prefix = settings.groupPrefix() + " --resource-pattern-type prefixed";
        return "kafka-acls.sh --bootstrap-server " + settings.bootstrap() + " --add --allow-principal User:NAME "
                + switch (right) {
                    case TOPIC -> "--operation Read --operation Write --operation Describe --topic " + resources.topic;
                    case GROUP -> "--operation Read --group " + (resources.group.isEmpty() ? prefix : resources.group);
                    case TRANSACTIONS -> "--operation Write --operation Describe --transactional-id " + prefix;
                };
    }

    private static Optional<String> advice(Throwable error) {
        if (error instanceof AuthorizationException) {
            return Optional.of("grant what is missing: docs/kafka.md lists the rights");
        }
        if (error instanceof AuthenticationException) {
            return Optional.of("correct the credentials");
        }
        if (error instanceof InvalidSessionTimeoutException) {
            return Optional.of("the lease must be between the broker's group.min.session.timeout.ms and"
                    + " group.max.session.timeout.ms");
        }
        if (error instanceof InconsistentGroupProtocolException) {
            return Optional.of("the group has members that do not know our assignor: give all of them one in common,"
                    + " by " + Settings.ASSIGNORS + " here and partition.assignment.strategy there");
        }
        if (error instanceof InvalidGroupIdException) {
            return Optional.of("choose another name, or another " + Settings.GROUP_PREFIX);
        }
        if (error instanceof GroupMaxSizeReachedException) {
            return Optional.of("raise the broker's group.max.size, or let fewer candidates stand");
        }
        if (error instanceof RecordTooLargeException || error instanceof RecordBatchTooLargeException) {
            return Optional.of("shorten the candidate's metadata, or raise max.message.bytes of the topic and"
                    + " max.request.size of the client");
        }
        if (String.valueOf(error.getMessage()).contains("transaction.max.timeout.ms")) { // of no class of its own
            return Optional.of("lower transaction.timeout.ms, or raise transaction.max.timeout.ms of the brokers");
        }
        if (error instanceof UnsupportedVersionException) {
            return Optional.of("brokers must be of version 2.5 or newer");
        }
        if (error instanceof ConfigException) {
            return Optional.of("correct the property");
        }
        return Optional.empty();
    }
}
