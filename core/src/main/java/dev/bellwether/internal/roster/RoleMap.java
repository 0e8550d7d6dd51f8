package dev.bellwether.internal.roster;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.IntStream;

/** Which partition a role belongs to, and which role a key: pure functions that must never change. */
final class RoleMap {
    private RoleMap() {}

    static int partitionOf(int role, int partitions) {
        return role % partitions;
    }

    /** Returns the roles of one partition from the first number on and below the second, in rising order. */
    static List<Integer> rolesOf(int partition, int partitions, int from, int below) {
        var rounds = from <= partition ? 0 : (from - partition + partitions - 1) / partitions;
        var first = partition + (long) rounds * partitions;
        return first >= below
                ? List.of()
                : IntStream.iterate((int) first, role -> role < below, role -> role + partitions)
                        .boxed()
                        .toList();
    }

    static int slotOf(String key, int slots) {
        return (int) Long.remainderUnsigned(hash(key), slots);
    }

    /** FNV-1a over UTF-8, then the finalizer of MurmurHash3, since FNV alone leaves the low bits poor. */
    static long hash(String key) {
        var hash = 0xcbf29ce484222325L;
        for (var each : key.getBytes(StandardCharsets.UTF_8)) {
            hash = (hash ^ (each & 0xff)) * 0x100000001b3L;
        }
        return mixed(hash);
    }

    private static long mixed(long value) {
        var hash = (value ^ (value >>> 33)) * 0xff51afd7ed558ccdL;
        hash = (hash ^ (hash >>> 33)) * 0xc4ceb9fe1a85ec53L;
        return hash ^ (hash >>> 33);
    }

    /**
     * Jump consistent hash (Lamping, Veach): when a role is added, a slot stays where it is or moves to the new role.
     */
    static int roleOfSlot(int slot, int roles) {
        var random = mixed(slot + 1L);
        var role = -1L;
        var next = 0L;
        while (next < roles) {
            role = next;
            random = random * 2862933555777941757L + 1;
            next = (long) ((role + 1) * ((double) (1L << 31) / ((random >>> 33) + 1)));
        }
        return (int) role;
    }
}
