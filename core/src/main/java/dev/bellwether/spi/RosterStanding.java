package dev.bellwether.spi;

import dev.bellwether.RosterConfig;

/**
 * Who is a member, and of what.
 *
 * @param instance names this membership among all of all processes, those of the same id included
 */
public record RosterStanding(String roster, String member, String instance, RosterConfig config) {
    private static final String ONLY = "main";

    /**
     * Returns the name under which a partition is led. Each group has leaders of its own: one that is not the default
     * is part of the name, so that what they guard or fence by it is not each other's.
     */
    public String election(int partition) {
        var group = config.group().equals(ONLY) ? "" : config.group() + '/';
        return roster + '[' + group + partition + ']';
    }

    /** Returns among whose members the records of a journal count: rosters may share a topic, and groups a roster. */
    public String journalGroup() {
        return config.topic().isPresent() ? roster + '.' + config.group() : config.group();
    }
}
