package dev.bellwether.spring;

import java.time.Duration;

/**
 * We stand by, and the leader hands its seat over to us as soon as all listeners have returned: fill caches now, while
 * it leads on. A listener that throws is not ready, and neither is one that takes longer than this: then the leader
 * leads on.
 *
 * <p>Heard by {@code @EventListener} methods, on a thread of the elections; never while another turn of the same
 * election is being heard.
 *
 * @param leader who leads until then
 * @param within how long we have
 */
public record PreparingEvent(String election, String leader, Duration within) {}
