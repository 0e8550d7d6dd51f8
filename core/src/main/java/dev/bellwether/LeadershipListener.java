package dev.bellwether;

/**
 * Hears the turns of one candidacy.
 *
 * <pre>{@code
 * var config = CandidacyConfig.builder()
 *         .lease(Duration.ofSeconds(5))
 *         .listener(event -> {
 *             if (event instanceof LeadershipEvent.Acquired) {
 *                 warmUp.run();
 *             } else if (event instanceof LeadershipEvent.Revoked) {
 *                 putAway.run(); // the successor waits until this returns
 *             } else if (event instanceof LeadershipEvent.Fenced) {
 *                 stop.run(); // nobody waits
 *             }
 *         })
 *         .build();
 * elections.stand("billing", config);
 * }</pre>
 *
 * <p>Called on the candidacy's executor, one event at a time, in order. A listener that blocks delays the events behind
 * it and, in an orderly stand-down, the successor (within the stand-down budget); it never delays a renewal, nor the
 * moment at which {@link Candidacy#isLeader} turns false. What it throws is logged and counted, and changes nothing
 * else, except that a candidate whose listener throws on {@link LeadershipEvent.Preparing} is not ready.
 *
 * <p>It may call every method of its candidacy but {@link Candidacy#awaitClose} and {@link Candidacy#handOver}, which
 * throw there. {@link Candidacy#close} does not wait there.
 */
@FunctionalInterface
public interface LeadershipListener {
    /** Called for each event; {@link LeadershipEvent} says what the application must do. */
    void onEvent(LeadershipEvent event) throws Exception;
}
