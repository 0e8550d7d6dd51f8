package dev.bellwether.internal.loop;

import dev.bellwether.Metrics;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Lets no failure of the user's metrics reach the loop. Thread-safe. */
public final class QuietMetrics extends ForwardingMetrics {
    private static final Logger log = LoggerFactory.getLogger(Metrics.class);

    private final Metrics heard;
    private volatile boolean complained;

    public QuietMetrics(Metrics heard) {
        this.heard = heard;
    }

    @Override
    protected void tell(Consumer<Metrics> told) {
        try {
            told.accept(heard);
        } catch (Throwable e) { // other languages throw checked exceptions, too
            if (!complained) {
                complained = true;
                Quietly.run(() -> log.error("the metrics failed; this is logged once", e));
            }
        }
    }
}
