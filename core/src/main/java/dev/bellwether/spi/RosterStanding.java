package dev.bellwether.spi;

import dev.bellwether.RosterConfig;

/**
 * Who is a member, and of what.
 *
 * @param instance names this membership among all of all processes, those of the same id included
 */
public record RosterStanding(String roster, String member, String instance, RosterConfig config) {}
