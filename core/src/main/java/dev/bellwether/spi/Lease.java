package dev.bellwether.spi;

import java.time.Duration;

/**
 * A seat that was granted, to be extended.
 *
 * @param claim the attempt that was granted
 * @param token the token it was granted with
 * @param term for how long to hold it from now on
 */
public record Lease(Claim claim, long token, Duration term) {}
