package dev.bellwether.outbox;

import dev.bellwether.spi.Causes;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.InvalidReplicationFactorException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.jspecify.annotations.Nullable;

/** Nobody can write down progress here, or read it, however often it tries. */
final class ProgressRefusedException extends Exception {
    private static final long serialVersionUID = 1;

    private ProgressRefusedException(Throwable cause) {
        super(cause.getMessage(), cause);
    }

    /** Throws one if that is what this tells, or what it came from. */
    static void throwIf(@Nullable Throwable told) throws ProgressRefusedException {
        for (var cause : Causes.of(told)) {
            if (cause instanceof AuthorizationException
                    || cause instanceof PolicyViolationException
                    || cause instanceof InvalidConfigurationException
                    || cause instanceof InvalidReplicationFactorException
                    || cause instanceof InvalidTopicException
                    || cause instanceof RecordTooLargeException
                    || cause instanceof UnsupportedVersionException
                    || cause instanceof Published.UnreadableException) {
                throw new ProgressRefusedException(cause);
            }
        }
    }
}
