package dev.bellwether.internal.record;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Watch;
import dev.bellwether.memory.MemoryLeaseStore;
import dev.bellwether.memory.MemoryRecordStore;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A note over a seat, on the two models of a store. */
class NotesTest {
    private static final Duration LEASE = Duration.ofMinutes(5);

    static Stream<LeaseStore> stores() {
        return Stream.of(
                new MemoryLeaseStore(Clock.system()),
                LeaseStore.over(new MemoryRecordStore(Clock.system(), RecordTraits.PLAIN)));
    }

    @ParameterizedTest
    @MethodSource("stores")
    void aNoteIsReplacedOnlyIfItIsTheExpectedOneOverTheSeatUnderThatToken(LeaseStore store) {
        assertThat(note(store, 1, "", "a note")).as("over nobody's seat").isFalse();
        var claim = claim("e", "ann");
        var token = get(store.acquire(claim)).view().token();
        assertThat(view(store).note()).isEmpty();
        assertThat(note(store, token + 1, "", "a note")).as("for another token").isFalse();
        assertThat(note(store, token, "other", "a note"))
                .as("in place of another")
                .isFalse();
        assertThat(note(store, token, "", "a note")).isTrue();
        assertThat(view(store).note()).isEqualTo("a note");
        assertThat(note(store, token, "", "late")).isFalse();
        assertThat(note(store, token, "a note", "next=1 & ü")).isTrue();
        assertThat(view(store).note()).isEqualTo("next=1 & ü");
        assertThat(note(store, token, "next=1 & ü", "")).isTrue();
        assertThat(view(store).note()).isEmpty();
    }

    @ParameterizedTest
    @MethodSource("stores")
    void aNoteIsThereUntilTheNextGrant(LeaseStore store) {
        var claim = claim("e", "ann");
        var token = get(store.acquire(claim)).view().token();
        assertThat(note(store, token, "", "a note")).isTrue();
        var renewed = get(store.renew(List.of(new Lease(claim, token, LEASE))).get(0));
        assertThat(renewed.granted()).as("a note changes no lease").isTrue();
        assertThat(renewed.view().note()).isEqualTo("a note");
        assertThat(get(store.order("e", Order.STAND_DOWN))).isTrue();
        assertThat(view(store).note()).as("beside an order").isEqualTo("a note");
        var released = get(store.release(claim));
        assertThat(released.view().note()).as("in the answer to the release").isEqualTo("a note");
        assertThat(view(store).holder()).isEmpty();
        assertThat(view(store).note()).as("over the vacant seat").isEqualTo("a note");
        assertThat(note(store, token, "a note", "")).as("over a vacant seat").isFalse();
        var next = get(store.acquire(claim("e", "bob")));
        assertThat(next.granted()).isTrue();
        assertThat(next.view().note()).isEmpty();
        assertThat(view(store).note()).isEmpty();
    }

    @ParameterizedTest
    @MethodSource("stores")
    void anybodyWhoWatchesIsToldOfANoteAndOfOtherMetadata(LeaseStore store) {
        var claim = claim("e", "ann");
        var token = get(store.acquire(claim)).view().token();
        var told = new ArrayList<View>();
        Watch watch = store.watch("e", told::add);
        assertThat(note(store, token, "", "a note")).isTrue();
        assertThat(told).last().satisfies(view -> assertThat(view.note()).isEqualTo("a note"));
        var shown = claim.showing(Map.of("version", "2"));
        get(store.renew(List.of(new Lease(shown, token, LEASE))).get(0));
        assertThat(told)
                .last()
                .satisfies(view ->
                        assertThat(view.leader().orElseThrow().metadata()).containsEntry("version", "2"));
        var before = told.size();
        get(store.renew(List.of(new Lease(shown, token, LEASE))).get(0));
        assertThat(told).as("a renewal is told to nobody").hasSize(before);
        get(store.release(shown));
        assertThat(told).last().satisfies(view -> {
            assertThat(view.holder()).isEmpty();
            assertThat(view.note()).isEqualTo("a note");
        });
        watch.close();
    }

    @ParameterizedTest
    @MethodSource("stores")
    void aSeatThatSharesASessionIsWrittenOnceForOtherMetadataAndKeepsItsNote(LeaseStore store) {
        var leases = IntStream.range(0, 20)
                .mapToObj(i -> {
                    var claim = claim("election" + i, "ann");
                    return new Lease(claim, get(store.acquire(claim)).view().token(), LEASE);
                })
                .toList();
        for (var i = 0; i < 3; i++) {
            store.renew(leases)
                    .forEach(renewed -> assertThat(get(renewed).granted()).isTrue());
        }
        var third = leases.get(3);
        assertThat(get(store.note("election3", third.token(), "", "a note"))).isTrue();
        var shown = new Lease(third.claim().showing(Map.of("version", "2")), third.token(), LEASE);
        var all = new ArrayList<>(leases);
        all.set(3, shown);
        store.renew(all).forEach(renewed -> assertThat(get(renewed).granted()).isTrue());
        var view = get(store.read("election3"));
        assertThat(view.leader().orElseThrow().metadata()).containsEntry("version", "2");
        assertThat(view.note()).isEqualTo("a note");
        store.renew(all).forEach(renewed -> assertThat(get(renewed).granted()).isTrue());
        assertThat(get(store.read("election3")).leader().orElseThrow().metadata())
                .containsEntry("version", "2");
    }

    private static Claim claim(String election, String candidate) {
        return new Claim(election, candidate, "n" + UUID.randomUUID() + "-1", LEASE, LEASE, 0, Map.of());
    }

    private static boolean note(LeaseStore store, long token, String expected, String note) {
        return get(store.note("e", token, expected, note));
    }

    private static View view(LeaseStore store) {
        return get(store.read("e"));
    }

    private static <T> T get(CompletionStage<T> stage) {
        return stage.toCompletableFuture().join();
    }
}
