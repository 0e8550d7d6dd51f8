package dev.bellwether.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.UnavailableException;
import dev.bellwether.memory.MemoryLeaseStore;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.View;
import dev.bellwether.testkit.Link.Way;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

class LinkedLeaseStoreTest {
    private static final Duration LEASE = Duration.ofMinutes(1);

    private final MemoryLeaseStore store = new MemoryLeaseStore(Clock.system());
    private final LinkedLeaseStore link = LinkedLeaseStore.toShared(store);

    @Test
    void anOpenLinkAnswersAtOnce() {
        assertThat(link.acquire(claim("a")).toCompletableFuture())
                .isCompletedWithValueMatching(answer -> answer.granted());
        assertThat(link.list().toCompletableFuture().join()).containsExactly("x");
    }

    @Test
    void requestsThatAreCutAreCarriedOutAfterHealInOrder() {
        link.cut();
        var a = link.acquire(claim("a")).toCompletableFuture();
        var b = link.acquire(claim("b")).toCompletableFuture();
        assertThat(seen().holder()).isEmpty();
        link.heal();
        assertThat(a.join().granted()).isTrue();
        assertThat(b.join().granted()).isFalse();
    }

    @Test
    void answersThatAreCutComeLateThoughTheRequestIsCarriedOut() {
        link.cut(Way.ANSWERS);
        var a = link.acquire(claim("a")).toCompletableFuture();
        assertThat(seen().holder()).isPresent();
        assertThat(a).isNotDone();
        link.cut(Way.REQUESTS); // opens the other way
        assertThat(a.join().granted()).isTrue();
        var renewed =
                link.renew(List.of(new Lease(claim("a"), 1, LEASE))).get(0).toCompletableFuture();
        assertThat(renewed).isNotDone();
        link.heal();
        assertThat(renewed.join().granted()).isTrue();
    }

    @Test
    void whatAWatchSeesIsHeldWithTheAnswers() {
        var views = new CopyOnWriteArrayList<View>();
        link.watch("x", views::add);
        link.cut(Way.ANSWERS);
        store.acquire(claim("a"));
        assertThat(views).isEmpty();
        link.heal();
        assertThat(views).hasSize(1);
    }

    @Test
    void resetFailsWhatIsUnderWayAndDropsWhatIsHeld() {
        link.cut();
        var a = link.acquire(claim("a")).toCompletableFuture();
        link.reset();
        assertThatThrownBy(a::join).hasCauseInstanceOf(UnavailableException.class);
        link.heal();
        assertThat(seen().holder()).isEmpty();
        assertThat(link.acquire(claim("b")).toCompletableFuture().join().granted())
                .isTrue();
    }

    @Test
    void refusedRequestsFailAtOnceUntilHealed() {
        link.refuse();
        assertThatThrownBy(link.read("x").toCompletableFuture()::join).hasCauseInstanceOf(UnavailableException.class);
        assertThatThrownBy(link.renew(List.of(new Lease(claim("a"), 1, LEASE)))
                        .get(0)
                        .toCompletableFuture()::join)
                .hasCauseInstanceOf(UnavailableException.class);
        link.heal();
        assertThat(link.acquire(claim("a")).toCompletableFuture().join().granted())
                .isTrue();
    }

    @Test
    void delayHoldsEachWay() {
        link.delay(Duration.ofMillis(50));
        var asked = System.nanoTime();
        CompletableFuture<View> answer = link.read("x").toCompletableFuture();
        assertThat(answer).isNotDone();
        answer.join();
        assertThat(Duration.ofNanos(System.nanoTime() - asked)).isGreaterThanOrEqualTo(Duration.ofMillis(100));
    }

    private View seen() {
        return store.read("x").toCompletableFuture().join();
    }

    private static Claim claim(String candidate) {
        return new Claim("x", candidate, candidate + "-1", LEASE, LEASE, 0, Map.of());
    }
}
