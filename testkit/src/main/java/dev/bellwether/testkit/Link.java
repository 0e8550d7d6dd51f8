package dev.bellwether.testkit;

import java.util.List;

/**
 * The way between one client and the server, which a test can cut: a black hole, not a reset.
 *
 * <p>Thread-safe. While the way is cut nothing is refused and nobody is told; what was sent is held, in order, and
 * arrives late, after {@link #heal}, as it does when a network drops packets and TCP sends them again. Each call has
 * taken effect when it returns: what is sent from then on does not pass.
 */
public interface Link {
    /** Returns several as one. */
    static Link all(List<? extends Link> links) {
        return new Link() {
            @Override
            public void cut(Way way) {
                links.forEach(link -> link.cut(way));
            }

            @Override
            public void heal() {
                links.forEach(Link::heal);
            }

            @Override
            public void reset() {
                links.forEach(Link::reset);
            }
        };
    }

    /** Lets nothing through, either way. */
    default void cut() {
        cut(Way.BOTH);
    }

    /** Lets nothing through this way; the other way stays, or becomes, open. */
    void cut(Way way);

    /** Lets everything through again, what was held first. */
    void heal();

    /**
     * Breaks what is connected; what is in flight or held is lost. The way stays cut, or open to new connections.
     */
    void reset();

    /** Which way. */
    enum Way {
        /** Nothing arrives at the server. */
        REQUESTS,
        /** The server does what it is asked, and its answers do not arrive. */
        ANSWERS,
        /** Nothing arrives anywhere. */
        BOTH
    }
}
