package dev.bellwether.internal.roster;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RoleMapTest {
    @Test
    void everyRoleBelongsToOnePartitionHoweverManyThereAre() {
        for (var partitions : new int[] {1, 3, 64}) {
            for (var roles : new int[] {1, 2, 63, 64, 65, 1000}) {
                var seen = new TreeSet<Integer>();
                for (var i = 0; i < partitions; i++) {
                    for (var role : RoleMap.rolesOf(i, partitions, 0, roles)) {
                        assertThat(RoleMap.partitionOf(role, partitions)).isEqualTo(i);
                        assertThat(seen.add(role)).isTrue();
                    }
                }
                assertThat(seen).hasSize(roles);
            }
        }
    }

    @Test
    void addedRolesAreThoseOfTheNewNumberThatWereNotOfTheOld() {
        for (var partition = 0; partition < 7; partition++) {
            for (var from = 0; from < 40; from++) {
                var all = new ArrayList<>(RoleMap.rolesOf(partition, 7, 0, 40));
                all.removeAll(RoleMap.rolesOf(partition, 7, 0, from));
                assertThat(RoleMap.rolesOf(partition, 7, from, 40)).isEqualTo(all);
            }
        }
    }

    /** Other processes, of other versions, must come to the same. */
    @Test
    void keysHashAsTheyEverDid() {
        assertThat(RoleMap.hash("")).isEqualTo(0xefd01f60ba992926L);
        assertThat(RoleMap.slotOf("customer-42", 16_384)).isEqualTo(953);
        assertThat(RoleMap.roleOfSlot(9_813, 1_000)).isEqualTo(774);
    }

    @Test
    void slotsAreUsedEvenly() {
        var counts = new int[64];
        IntStream.range(0, 64_000).forEach(i -> counts[RoleMap.slotOf("key-" + i, 64)]++);
        assertThat(IntStream.of(counts).min().orElse(0)).isGreaterThan(850);
        assertThat(IntStream.of(counts).max().orElse(0)).isLessThan(1_150);
    }

    @Test
    void aRoleMoreTakesItsShareOfTheSlotsAndMovesNoOther() {
        var moved = 0;
        for (var slot = 0; slot < 16_384; slot++) {
            var before = RoleMap.roleOfSlot(slot, 20);
            var after = RoleMap.roleOfSlot(slot, 21);
            if (before != after) {
                assertThat(after).isEqualTo(20);
                moved++;
            }
        }
        assertThat(moved).isBetween(16_384 / 21 - 120, 16_384 / 21 + 120);
    }
}
