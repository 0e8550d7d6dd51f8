package dev.bellwether.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Elections;
import dev.bellwether.Roster;
import dev.bellwether.testkit.Eventually;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

class RosterStepsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @Test
    void everyInstrumentIsPricedByOneOfTwoMembers() {
        var name = "memory:" + UUID.randomUUID();
        var priced = ConcurrentHashMap.<Integer>newKeySet();
        try (var one = Elections.connect(name);
                var other = Elections.connect(name)) {
            var first = RosterSteps.price(one, (instrument, token) -> priced.add(instrument));
            var second = RosterSteps.price(other, (instrument, token) -> priced.add(instrument));
            awaitShared(first, second);
            Eventually.eventually("all are priced", PATIENCE, () -> priced.size() == 1_000);
        }
    }

    @Test
    void aKeyIsPutWhereItsShardIsLedAndForwardedElsewhere() {
        var name = "memory:" + UUID.randomUUID();
        var put = new CopyOnWriteArrayList<String>();
        var shards = new RosterSteps.Shards() {
            @Override
            public void put(int shard, String key, String value, long token) {
                put.add(key);
            }

            @Override
            public void forward(int shard, String key, String value) {}
        };
        try (var one = Elections.connect(name);
                var other = Elections.connect(name)) {
            var first = RosterSteps.price(one, (role, token) -> {});
            var second = RosterSteps.price(other, (role, token) -> {});
            awaitShared(first, second);
            for (var i = 0; i < 100; i++) {
                RosterSteps.put(first, shards, "key-" + i, "value");
                RosterSteps.put(second, shards, "key-" + i, "value");
            }
            assertThat(put).hasSize(100).doesNotHaveDuplicates();
        }
    }

    /** Each has 32 of 64 partitions; those that come first have 16 of the 1,000 roles, the others 15. */
    private static void awaitShared(Roster first, Roster second) {
        Eventually.eventually("both lead", PATIENCE, () -> {
            var one = first.roles().size();
            var other = second.roles().size();
            return one + other == 1_000 && Math.min(one, other) >= 32 * 15;
        });
    }
}
