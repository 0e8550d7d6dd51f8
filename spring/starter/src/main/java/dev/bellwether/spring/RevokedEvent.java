package dev.bellwether.spring;

import dev.bellwether.Cause;
import dev.bellwether.Mandate;

/**
 * The mandate has ended in order, and the seat is still ours: it is handed over when all listeners have returned and
 * all that is {@link LeaderOnly} has ended, or when the stand-down budget is used up. Finish unfinished work, or put it
 * into order.
 *
 * <p>Heard by {@code @EventListener} methods, on a thread of the elections; never while another turn of the same
 * election is being heard.
 */
public record RevokedEvent(Mandate mandate, Cause cause) {}
