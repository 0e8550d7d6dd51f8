package dev.bellwether.sql;

import java.time.Instant;
import java.time.ZoneId;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Where the contestants of the tests live: no two sessions in turn are in the same time zone. Thread-safe. */
final class TimeZones {
    static final List<String> ALL =
            List.of("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Auckland", "Pacific/Niue");

    private static final AtomicInteger SERIAL = new AtomicInteger();

    private TimeZones() {}

    static String next() {
        return ALL.get(Math.floorMod(SERIAL.getAndIncrement(), ALL.size()));
    }

    /** Returns how far a zone is from UTC now, as databases write it that do not know its name. */
    static String offsetOf(String zone) {
        var offset = ZoneId.of(zone).getRules().getOffset(Instant.now()).getId();
        return offset.equals("Z") ? "+00:00" : offset;
    }

    /** Returns the statement that puts a session into a zone; none where sessions have none. */
    static List<String> statement(Dialect dialect, String zone) {
        return switch (dialect) {
            case POSTGRESQL, H2 -> List.of("SET TIME ZONE '" + zone + "'");
            case MARIADB -> List.of("SET time_zone = '" + offsetOf(zone) + "'");
            case SQLITE -> List.of();
        };
    }
}
