package dev.bellwether;

/**
 * Hears which roles come and go.
 *
 * <pre>{@code
 * var config = RosterConfig.builder()
 *         .roles(1_000)
 *         .listener(event -> {
 *             if (event instanceof RosterEvent.Gained gained) {
 *                 gained.roles().forEach(open);
 *             } else if (event instanceof RosterEvent.Revoked revoked) {
 *                 revoked.roles().forEach(close); // the next leader waits until this returns
 *             } else if (event instanceof RosterEvent.Fenced fenced) {
 *                 fenced.roles().forEach(drop); // nobody waits
 *             }
 *         })
 *         .build();
 * elections.roster("pricing", config);
 * }</pre>
 *
 * <p>Called on the roster's executor. Events about the same role come one at a time and in order; those about roles of
 * different partitions may come at once. A listener that blocks delays the successor of these roles (within the
 * stand-down budget), and nobody else; it never delays a proof. What it throws is logged and counted, and changes
 * nothing else. It may call every method of its roster but {@link Roster#awaitClose}, which throws there.
 */
@FunctionalInterface
public interface RosterListener {
    /** Called for each event; {@link RosterEvent} says what the application must do. */
    void onEvent(RosterEvent event) throws Exception;
}
