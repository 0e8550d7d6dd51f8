package dev.bellwether;

/**
 * Hears which roles come and go.
 *
 * <p>Called on the roster's executor. Events about the same role come one at a time and in order; those about roles of
 * different partitions may come at once. A listener that blocks delays the successor of these roles (within the
 * stand-down budget), and nobody else; it never delays a proof.
 */
@FunctionalInterface
public interface RosterListener {
    /** Called for each event; {@link RosterEvent} says what the application must do. */
    void onEvent(RosterEvent event) throws Exception;
}
