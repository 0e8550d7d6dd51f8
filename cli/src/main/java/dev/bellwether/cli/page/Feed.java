package dev.bellwether.cli.page;

import dev.bellwether.cli.command.Json;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What a page shows: objects by their ids, each with the number of its last change, so that anybody who has seen the
 * state as of one number is sent what has changed since. Thread-safe.
 */
public final class Feed {
    private final Map<String, Long> versions = new HashMap<>();
    private final TreeMap<Long, Item> items = new TreeMap<>();
    private long version;
    private boolean closed;

    private record Item(String id, String json) {}

    /**
     * What has changed.
     *
     * @param version to ask from the next time
     */
    public record Change(long version, List<String> objects) {}

    /** Puts an object in the place of the one with this id; it gets the fields {@code id} and {@code is}. */
    public void put(String is, String name, Json.Content content) {
        var id = is + ":" + name;
        put(id, Json.object(json -> {
            json.writeStringField("id", id);
            json.writeStringField("is", is);
            content.writeTo(json);
        }));
    }

    /** Takes an object away: the page is told that it is gone. */
    public void remove(String is, String name) {
        var id = is + ":" + name;
        put(id, Json.object(json -> {
            json.writeStringField("id", id);
            json.writeStringField("is", "gone");
        }));
    }

    private synchronized void put(String id, String json) {
        var before = versions.get(id);
        if (before != null) {
            var known = items.get(before);
            if (known != null && known.json.equals(json)) {
                return;
            }
            items.remove(before);
        }
        version++;
        versions.put(id, version);
        items.put(version, new Item(id, json));
        notifyAll();
    }

    /** Returns what has changed since a version, 0 for everything. */
    public synchronized Change since(long seen) {
        var objects = new ArrayList<String>();
        items.tailMap(seen, false).values().forEach(item -> objects.add(item.json));
        return new Change(version, objects);
    }

    /** Waits until something has changed since a version, or the time has passed; returns false when it is closed. */
    synchronized boolean await(long seen, long millis) throws InterruptedException {
        var until = System.nanoTime() + millis * 1_000_000;
        while (!closed && version == seen) {
            var left = (until - System.nanoTime()) / 1_000_000;
            if (left <= 0) {
                break;
            }
            wait(left);
        }
        return !closed;
    }

    /** Ends all waiting. */
    public synchronized void close() {
        closed = true;
        notifyAll();
    }
}
