package dev.bellwether;

/** Where a candidacy stands. */
public enum Phase {
    /** Waiting for the seat. */
    STANDING_BY,
    /** Told to leave the seat to others, until it stands again: see {@link Candidacy#standAside}. */
    STANDING_ASIDE,
    /** Holding a mandate. */
    LEADING,
    /** The mandate is revoked; the seat is kept until the work has ended, within the stand-down budget. */
    STANDING_DOWN,
    /** The mandate was fenced; waiting for the work to end before standing again. */
    FENCED,
    /** Giving back what is held at the infrastructure; the last event may not have been heard yet. */
    LEAVING,
    /** Finished; no way back. */
    CLOSED
}
