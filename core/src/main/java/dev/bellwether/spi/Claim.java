package dev.bellwether.spi;

import java.time.Duration;
import java.util.Map;

/**
 * One attempt to take a seat.
 *
 * @param nonce names this attempt among all attempts of all processes, so that a lost answer can be told by reading
 *     back
 * @param lease for how long the seat is asked
 * @param patience how long the claimant counts as a candidate if nothing more is heard of it
 */
public record Claim(
        String election,
        String candidate,
        String nonce,
        Duration lease,
        Duration patience,
        int priority,
        Map<String, String> metadata) {}
