package dev.bellwether;

/** What became of what a candidacy held at the infrastructure when it ended: {@link Candidacy#departure}. */
public enum Departure {
    /** The infrastructure has confirmed that it is given back: nobody waits for anything of ours. */
    CONFIRMED,
    /** There was no answer, or nobody could be asked: the seat, if it was held, is free when the lease has run out. */
    UNCONFIRMED
}
