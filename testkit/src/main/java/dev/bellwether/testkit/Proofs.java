package dev.bellwether.testkit;

import dev.bellwether.Candidacy;

/** Whether the infrastructure has proven a mandate lately. */
public final class Proofs {
    private Proofs() {}

    /** Returns whether it leads by a proof that was begun after this reading of {@link System#nanoTime}. */
    public static boolean isProvenSince(Candidacy candidacy, long sinceNanos) {
        var now = System.nanoTime(); // before the age is taken: no proof looks younger than it is
        return candidacy
                .status()
                .sinceProof()
                .filter(age -> now - age.toNanos() - sinceNanos > 0)
                .isPresent();
    }
}
