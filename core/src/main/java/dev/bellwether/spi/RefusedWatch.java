package dev.bellwether.spi;

import dev.bellwether.AccessRefusedException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Tells once that a watch is refused, and that it is not any more. Confined to the thread of the watch. */
public final class RefusedWatch {
    private final Logger log;
    private final Object client;
    private boolean told;

    /** Of a watch of this class over this client. */
    public RefusedWatch(Class<?> watch, Object client) {
        log = LoggerFactory.getLogger(watch);
        this.client = client;
    }

    /** It was refused, and will be tried again. */
    public void refused(AccessRefusedException e) {
        if (told) {
            log.debug("{} may still not be watched: {}", client, e.getMessage());
            return;
        }
        told = true;
        log.warn(
                "{} may not be watched now; a standby claims only when the lease that it saw is over: {}",
                client,
                e.getMessage());
    }

    /** Returns whether it was refused last. */
    public boolean isRefused() {
        return told;
    }

    /** It was not refused. */
    public void granted() {
        if (told) {
            told = false;
            log.info("{} may be watched again", client);
        }
    }
}
