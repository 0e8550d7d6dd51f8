package dev.bellwether.spring;

/**
 * An operator has ended or deleted the election: this application does not stand in it again before its context starts
 * again, also if the election is reopened. If it led, {@link RevokedEvent} or {@link FencedEvent} came first. Health is
 * degraded from then on.
 *
 * <p>Heard by {@code @EventListener} methods, on a thread of the elections.
 */
public record EndedEvent(String election) {}
