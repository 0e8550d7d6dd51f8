package dev.bellwether.outbox;

import dev.bellwether.testkit.Never;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The checker: what consumers have read, key by key, held against what was written. The values are the numbers 0, 1, 2,
 * … of each key, in the order of commits.
 */
final class Ledger {
    private final Map<String, List<Integer>> read = new LinkedHashMap<>();

    void read(String key, int number) {
        read.computeIfAbsent(key, k -> new ArrayList<>()).add(number);
    }

    int records() {
        return read.values().stream().mapToInt(List::size).sum();
    }

    /** Returns how many records were seen again. */
    int repeats() {
        return read.values().stream()
                .mapToInt(numbers ->
                        numbers.size() - (int) numbers.stream().distinct().count())
                .sum();
    }

    /** Returns which records were seen again, in words that are marked as what must never be. */
    List<String> again() {
        var again = new ArrayList<String>();
        read.forEach((key, numbers) -> {
            var seen = new HashSet<Integer>();
            for (var i = 0; i < numbers.size(); i++) {
                if (!seen.add(numbers.get(i))) {
                    again.add(Never.mark(key + ": " + numbers.get(i) + " is seen again, at " + i));
                    return; // one tells enough of a key
                }
            }
        });
        return again;
    }

    /** Returns whether the last number of each key has been seen, as its last record. */
    boolean isComplete(Map<String, Integer> written) {
        for (var entry : written.entrySet()) {
            var numbers = read.get(entry.getKey());
            if (numbers == null || numbers.get(numbers.size() - 1) != entry.getValue() - 1) {
                return false;
            }
        }
        return true;
    }

    /**
     * Returns what is wrong, in words that are marked as what must never be; nothing if there are rewinds at most: each
     * record follows its predecessor, or goes back to one that was seen before, and the last one is the last that was
     * written.
     *
     * @param written how many numbers each key has got
     */
    List<String> faults(Map<String, Integer> written) {
        var faults = new ArrayList<String>();
        var expected = new HashMap<>(written);
        read.forEach((key, numbers) -> {
            var count = expected.remove(key);
            if (count == null) {
                faults.add(key + ": never written");
                return;
            }
            faults(key, numbers, count, faults);
        });
        expected.forEach((key, count) -> {
            if (count > 0) {
                faults.add(key + ": all " + count + " lost");
            }
        });
        return faults.stream().map(Never::mark).toList();
    }

    private static void faults(String key, List<Integer> numbers, int count, List<String> faults) {
        var last = -1;
        var highest = -1;
        for (var i = 0; i < numbers.size(); i++) {
            var number = numbers.get(i);
            if (number > highest + 1) {
                faults.add(key + ": " + number + " overtakes " + (highest + 1) + " at " + i);
            } else if (number > last + 1) {
                faults.add(key + ": " + number + " follows " + last + " in a rewind, at " + i);
            }
            last = number;
            highest = Math.max(highest, number);
        }
        if (highest != count - 1) {
            faults.add(key + ": " + (count - 1 - highest) + " of " + count + " lost at the end");
        } else if (last != count - 1) {
            faults.add(key + ": a stale tail: " + last + " of " + count);
        }
    }
}
