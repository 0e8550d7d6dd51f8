package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class RosterNamesTest {
    @Test
    void aGroupOfAnElectionOrOfARosterWithALongerNameIsNotOneOfTheRosters() {
        var shape = "bellwether.roster.pricing.*";
        assertThat(RosterGroups.name(shape, "bellwether.roster.pricing.main")).contains("main");
        assertThat(RosterGroups.name(shape, "bellwether.roster.pricing.eu.main"))
                .isEmpty();
        assertThat(RosterGroups.name(shape, "bellwether.roster.pricing.main~10"))
                .isEmpty(); // roster.pricing.main
    }
}
