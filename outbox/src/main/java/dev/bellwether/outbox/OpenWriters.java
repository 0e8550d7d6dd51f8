package dev.bellwether.outbox;

import java.sql.SQLException;
import java.util.Optional;
import java.util.Set;

/** Sees which transactions may still commit a row whose id was drawn before now. Confined to the reader's thread. */
interface OpenWriters {
    /** Returns who they are; empty if nobody can tell now, so that no gap may be closed. */
    Optional<Holders> look() throws SQLException;

    /**
     * Who holds a lock that is taken before an id is drawn, and kept until the transaction is over.
     *
     * @param names different for different transactions, and the same for one transaction as long as it has not ended
     * @param prepared whether a prepared transaction is among them: it has lost the name under which it held the lock
     */
    record Holders(Set<String> names, boolean prepared) {}
}
