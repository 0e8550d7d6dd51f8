package dev.bellwether.spring;

import dev.bellwether.Cause;
import dev.bellwether.Mandate;

/**
 * The mandate is over and somebody else may lead already. Stop at once, finish nothing: nobody waits. All that is
 * {@link LeaderOnly} has been interrupted.
 *
 * <p>Heard by {@code @EventListener} methods, on a thread of the elections; never while another turn of the same
 * election is being heard.
 */
public record FencedEvent(Mandate mandate, Cause cause) {}
