package dev.bellwether.spring;

import dev.bellwether.Mandate;

/**
 * We lead. Published before anything that is {@link LeaderOnly} runs: prepare what leading needs. Only the thread that
 * hears it may call {@link LeaderOnly} methods already.
 *
 * <p>Heard by {@code @EventListener} methods, on a thread of the elections; never while another turn of the same
 * election is being heard.
 */
public record AcquiredEvent(Mandate mandate) {}
