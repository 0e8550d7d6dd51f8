package dev.bellwether.spring;

import dev.bellwether.Elections;
import dev.bellwether.RunLock;

/**
 * The locks for one run, by name, each with the settings of {@code bellwether.locks.NAME}, or with the default ones. It
 * is a bean of the application. Thread-safe.
 *
 * <p>A lock and an election of one name are one seat: name them differently.
 */
public final class Locks {
    private final Elections elections;
    private final BellwetherProperties properties;

    Locks(Elections elections, BellwetherProperties properties) {
        this.elections = elections;
        this.properties = properties;
        properties.getLocks().keySet().forEach(properties::lock); // a contradiction is told at the start, not at night
    }

    /** Returns a lock; nobody holds it through this. */
    public RunLock named(String name) {
        return elections.lock(name, properties.lock(name));
    }
}
