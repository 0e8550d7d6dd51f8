package dev.bellwether.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class BalanceTest {
    private static long count(String member, String[] assigned) {
        return Arrays.stream(assigned).filter(member::equals).count();
    }

    private static String[] assign(Map<String, Integer> weights, @Nullable String[] owners) {
        return Balance.assign(weights, owners);
    }

    private static Map<String, Integer> equal(String... names) {
        var weights = new TreeMap<String, Integer>();
        for (var name : names) {
            weights.put(name, 1);
        }
        return weights;
    }

    @Test
    void sharesAreEqualToTheNearestPartition() {
        var assigned = assign(equal("a", "b", "c"), new String[64]);
        assertThat(count("a", assigned) + count("b", assigned) + count("c", assigned))
                .isEqualTo(64);
        assertThat(count("a", assigned)).isBetween(21L, 22L);
        assertThat(count("b", assigned)).isBetween(21L, 22L);
        assertThat(count("c", assigned)).isBetween(21L, 22L);
    }

    @Test
    void onlyWhatTheLeaverHadMoves() {
        var before = assign(equal("a", "b", "c", "d"), new String[64]);
        var after = assign(equal("a", "b", "c"), before);
        for (var i = 0; i < 64; i++) {
            if (!"d".equals(before[i])) {
                assertThat(after[i]).isEqualTo(before[i]);
            }
        }
        assertThat(Balance.moves(equal("a", "b", "c"), before, after)).isZero();
    }

    @Test
    void aNewcomerGetsHisShareAndNobodyElseAnything() {
        var before = assign(equal("a", "b", "c"), new String[64]);
        var after = assign(equal("a", "b", "c", "d"), before);
        assertThat(count("d", after)).isEqualTo(16);
        for (var i = 0; i < 64; i++) {
            assertThat(after[i]).isIn(before[i], "d");
        }
    }

    @Test
    void weightsAreShares() {
        var assigned = assign(Map.of("small", 1, "large", 3), new String[64]);
        assertThat(count("small", assigned)).isEqualTo(16);
        assertThat(count("large", assigned)).isEqualTo(48);
    }

    @Test
    void whatIsBalancedStaysAsItIs() {
        var weights = Map.of("a", 2, "b", 1, "c", 5);
        var before = assign(weights, new String[100]);
        assertThat(assign(weights, before)).isEqualTo(before);
    }

    @Test
    void aWeightThatIsNotPositiveIsRefused() {
        assertThatThrownBy(() -> assign(Map.of("a", 0), new String[3])).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> assign(Map.of(), new String[3])).isInstanceOf(IllegalArgumentException.class);
    }

    /** Of all assignments in which everybody has his share, rounded up or down, none keeps more where it is. */
    @Test
    void noFairAssignmentMovesLessInHundredsOfHistories() {
        for (var seed = 1; seed <= 500; seed++) {
            var random = new SplittableRandom(seed);
            var partitions = random.nextInt(1, 80);
            @Nullable String[] owners = new String[partitions];
            var weights = new TreeMap<String, Integer>();
            for (var step = 0; step < 12; step++) {
                if (weights.size() < 2 || (weights.size() < 9 && random.nextBoolean())) {
                    weights.put("m" + random.nextInt(100), random.nextInt(3) > 0 ? 1 : random.nextInt(1, 9));
                } else {
                    weights.remove(weights.firstKey());
                }
                var after = assign(weights, owners);
                var what = "seed " + seed + ", step " + step + ": " + weights;
                var total =
                        weights.values().stream().mapToInt(Integer::intValue).sum();
                var kept = 0L;
                var over = 0L; // those who may keep one more than the whole part of their share
                var extras = (long) partitions;
                for (var member : weights.entrySet()) {
                    var share = (double) partitions * member.getValue() / total;
                    assertThat(count(member.getKey(), after)).as(what).isBetween((long) Math.floor(share + 1e-9), (long)
                            Math.ceil(share - 1e-9));
                    var whole = (long) Math.floor(share + 1e-9);
                    extras -= whole;
                    var held = Arrays.stream(owners)
                            .filter(member.getKey()::equals)
                            .count();
                    kept += Math.min(held, whole);
                    over += held > whole && share - whole > 1e-9 ? 1 : 0;
                }
                var owned = Arrays.stream(owners)
                        .filter(owner -> owner != null && weights.containsKey(owner))
                        .count();
                assertThat(owned - Balance.moves(weights, owners, after))
                        .as(what)
                        .isEqualTo(kept + Math.min(over, extras));
                owners = after;
            }
        }
    }
}
