package dev.bellwether.spi;

/**
 * A definite answer of a {@link LeaseStore}.
 *
 * @param granted whether what was asked was done
 * @param view the seat after that
 */
public record Answer(boolean granted, View view) {}
