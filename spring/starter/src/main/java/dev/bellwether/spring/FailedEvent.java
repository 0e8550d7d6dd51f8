package dev.bellwether.spring;

import dev.bellwether.ElectionException;

/**
 * The candidacy has failed permanently: this application does not stand in the election again before its context starts
 * again. If it led, {@link FencedEvent} or {@link RevokedEvent} came first. Tell somebody, or end the application so
 * that it is started again; health is down until then.
 *
 * <p>Heard by {@code @EventListener} methods, on a thread of the elections.
 */
public record FailedEvent(String election, ElectionException error) {}
