package dev.bellwether.outbox;

import org.apache.kafka.common.InvalidRecordException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.InvalidTimestampException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.common.errors.RecordBatchTooLargeException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.errors.UnsupportedForMessageFormatException;

/** What a failure says of the record that it was told for. */
enum Verdict {
    /** It can never be published. */
    RECORD,
    /** It, or another that went in the same request, cannot be published. */
    BATCH,
    /** Perhaps there is no such topic, or can be none, or no such partition; perhaps the brokers are away. */
    TOPIC,
    /** We may not write to its topic. */
    FORBIDDEN,
    /** Nothing: it is to be sent again. */
    NOTHING;

    private static final String BATCH_MATE = "was part of a batch";

    static Verdict of(Exception failure) {
        if (failure instanceof RecordTooLargeException
                || failure instanceof SerializationException
                || failure instanceof IllegalArgumentException) {
            return RECORD;
        }
        if (failure instanceof InvalidRecordException
                || failure instanceof InvalidTimestampException
                || failure instanceof RecordBatchTooLargeException
                || failure instanceof UnsupportedForMessageFormatException
                || failure instanceof PolicyViolationException
                || (failure.getClass() == KafkaException.class
                        && String.valueOf(failure.getMessage()).contains(BATCH_MATE))) {
            return BATCH;
        }
        if (failure instanceof TimeoutException
                || failure instanceof UnknownTopicOrPartitionException
                || failure instanceof InvalidTopicException) {
            return TOPIC;
        }
        if (failure instanceof TopicAuthorizationException) {
            return FORBIDDEN;
        }
        return NOTHING;
    }
}
