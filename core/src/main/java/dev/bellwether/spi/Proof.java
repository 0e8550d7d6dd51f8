package dev.bellwether.spi;

import java.time.Duration;

/**
 * Why we may lead for a while: the infrastructure promised not to give the seat away for a time that it counts from its
 * receipt of a request of ours.
 *
 * @param since when we had not yet sent that request; never when its answer came
 * @param guarantee how long the infrastructure keeps the seat for us, by its own clock, from its receipt
 */
public record Proof(Moment since, Duration guarantee) {}
