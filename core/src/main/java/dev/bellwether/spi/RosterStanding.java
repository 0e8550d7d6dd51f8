package dev.bellwether.spi;

import dev.bellwether.RosterConfig;

/**
 * Who is a member, and of what.
 *
 * @param instance names this membership among all of all processes, those of the same id included
 */
public record RosterStanding(String roster, String member, String instance, RosterConfig config) {

    /** Returns among whose members the records of a journal count: rosters may share a topic, and groups a roster. */
    public String journalGroup() {
        return config.topic().isPresent() ? roster + '.' + config.group() : config.group();
    }
}
