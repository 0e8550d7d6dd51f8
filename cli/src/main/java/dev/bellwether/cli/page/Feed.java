package dev.bellwether.cli.page;

import dev.bellwether.cli.command.Json;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What a page shows: objects by their ids, each with the number of its last change, so that anybody who has seen the
 * state as of one number is sent what has changed since. What is gone is remembered for a while, and no longer: anybody
 * who has seen less is sent everything. Thread-safe.
 */
public final class Feed {
    private static final int GONE_KEPT = 5_000;

    private final Map<String, Long> versions = new HashMap<>();
    private final TreeMap<Long, Item> items = new TreeMap<>();
    private final Deque<Item> gone = new ArrayDeque<>(); // those that say so, the oldest first
    private long forgotten; // the version of the last one that said so and is not kept
    private long version;
    private boolean closed;

    private record Item(long version, String id, String json, boolean gone) {}

    /**
     * What has changed.
     *
     * @param version to ask from the next time
     * @param fresh whether the objects are all that there are, and what is not among them is gone
     */
    public record Change(long version, boolean fresh, List<String> objects) {}

    /** Puts an object in the place of the one with this id; it gets the fields {@code id} and {@code is}. */
    public void put(String is, String name, Json.Content content) {
        var id = is + ":" + name;
        put(id, false, Json.object(json -> {
            json.writeStringField("id", id);
            json.writeStringField("is", is);
            content.writeTo(json);
        }));
    }

    /** Takes an object away: the page is told that it is gone. */
    public void remove(String is, String name) {
        var id = is + ":" + name;
        put(id, true, Json.object(json -> {
            json.writeStringField("id", id);
            json.writeStringField("is", "gone");
        }));
    }

    private synchronized void put(String id, boolean goes, String json) {
        var before = versions.get(id);
        if (before != null) {
            var known = items.get(before);
            if (known != null && known.json.equals(json)) {
                return;
            }
            items.remove(before);
            if (known != null && known.gone) {
                gone.remove(known);
            }
        }
        version++;
        versions.put(id, version);
        var item = new Item(version, id, json, goes);
        items.put(version, item);
        if (goes) {
            gone.addLast(item);
            forgetTheOldest();
        }
        notifyAll();
    }

    private void forgetTheOldest() {
        if (gone.size() > GONE_KEPT) {
            var oldest = gone.removeFirst();
            items.remove(oldest.version);
            versions.remove(oldest.id);
            forgotten = oldest.version;
        }
    }

    /** Returns what has changed since a version, 0 for everything. */
    public synchronized Change since(long seen) {
        var fresh = seen == 0 || seen < forgotten;
        var objects = new ArrayList<String>();
        for (var item : items.tailMap(fresh ? 0 : seen, false).values()) {
            if (!fresh || !item.gone) {
                objects.add(item.json);
            }
        }
        return new Change(version, fresh, objects);
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
