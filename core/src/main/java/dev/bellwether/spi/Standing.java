package dev.bellwether.spi;

import dev.bellwether.CandidacyConfig;

/**
 * Who stands, and for what.
 *
 * @param instance names this candidacy among all candidacies of all processes, those of the same id included
 */
public record Standing(String election, String candidate, String instance, CandidacyConfig config) {}
