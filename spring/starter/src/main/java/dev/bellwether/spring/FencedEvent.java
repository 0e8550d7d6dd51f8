package dev.bellwether.spring;

import dev.bellwether.Cause;
import dev.bellwether.Mandate;

/**
 * The mandate is over and another process may lead already. Stop at once, and finish nothing: nobody waits. Everything
 * that is {@link LeaderOnly} has been interrupted.
 *
 * <p>Heard by {@code @EventListener} methods, on a thread of the elections; never while another turn of the same
 * election is being heard.
 */
public record FencedEvent(Mandate mandate, Cause cause) {}
