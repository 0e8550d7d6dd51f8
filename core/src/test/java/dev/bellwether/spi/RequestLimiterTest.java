package dev.bellwether.spi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.UnavailableException;
import dev.bellwether.spi.RequestLimiter.Urgency;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Who is let through, and when. */
class RequestLimiterTest {
    private static final int MOST = 3;
    private static final long LATER = System.nanoTime() + Duration.ofHours(1).toNanos();

    private final RequestLimiter limiter = new RequestLimiter(MOST);
    private final List<String> sent = new ArrayList<>();
    private final ArrayDeque<CompletableFuture<String>> underWay = new ArrayDeque<>();

    @Test
    void noMoreThanSoManyAreUnderWayHoweverManyAsk() {
        var answers = IntStream.range(0, 10)
                .mapToObj(i -> ask(Urgency.LOOK, "look" + i))
                .toList();
        assertThat(sent).hasSize(MOST);
        for (var i = 0; i < 10; i++) {
            assertThat(sent).hasSize(Math.min(10, MOST + i));
            answerOldest();
        }
        assertThat(answers).allMatch(CompletableFuture::isDone);
    }

    @Test
    void whatKeepsALeaseGoesBeforeAllThatWaits() {
        IntStream.range(0, 5).forEach(i -> queue(Urgency.LIST, "list" + i));
        IntStream.range(0, 2).forEach(i -> queue(Urgency.LOOK, "look" + i));
        queue(Urgency.KEEP, "keep");
        while (!underWay.isEmpty()) {
            answerOldest();
        }
        assertThat(sent).containsExactly("list0", "list1", "list2", "keep", "look1", "look0", "list4", "list3");
    }

    /** The server answers half of what is asked: somebody has to give up, and that is not who is sent. */
    @Test
    void whenMoreIsAskedThanCanBeAnsweredWhatIsSentHasTimeForItsAnswer() {
        var now = new AtomicLong();
        var slow = new RequestLimiter(1, by(now));
        var patience = Duration.ofSeconds(3).toNanos();
        var left = new ArrayList<Long>();
        var asked = new ArrayList<CompletableFuture<String>>();
        for (var i = 0; i < 4_000; i++) {
            var deadline = now.get() + patience;
            asked.add(slow.pass(
                    Urgency.LOOK,
                    deadline,
                    () -> {
                        left.add(deadline - now.get());
                        return hang(underWay);
                    },
                    () -> new UnavailableException("too late")));
            now.addAndGet(Duration.ofMillis(5).toNanos());
            if (i % 2 == 1) {
                answerOldest();
            }
        }
        assertThat(left).hasSize(2_001).allMatch(nanos -> nanos > patience / 2);
        assertThat(asked.subList(0, 3_000)).as("nobody waits forever").allMatch(CompletableFuture::isDone);
    }

    /** Requests of three seconds hang, as many as may; a lease that is shorter is kept all the same. */
    @Test
    void thereIsAPlaceForWhatKeepsALeaseWhileOthersHang() {
        var wide = new RequestLimiter(64);
        var hanging = new ArrayList<CompletableFuture<String>>();
        for (var i = 0; i < 100; i++) {
            var urgency = i % 2 == 0 ? Urgency.LOOK : Urgency.LIST;
            var unused = wide.pass(urgency, LATER, () -> hang(hanging), () -> new UnavailableException("too late"));
        }
        assertThat(hanging).hasSize(56);
        var kept = wide.pass(
                Urgency.KEEP,
                LATER,
                () -> CompletableFuture.completedFuture("kept"),
                () -> new UnavailableException("too late"));
        assertThat(kept).isCompletedWithValue("kept");
    }

    @Test
    void whatNobodyWaitsForAnyMoreIsNotSent() {
        IntStream.range(0, MOST).forEach(i -> queue(Urgency.KEEP, "first" + i));
        var stale = ask(Urgency.KEEP, "stale", Duration.ofNanos(-1));
        var fresh = ask(Urgency.KEEP, "fresh");
        answerOldest();
        assertThat(stale)
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .withCauseInstanceOf(UnavailableException.class);
        assertThat(sent).contains("fresh").doesNotContain("stale");
        assertThat(fresh).isNotDone();
    }

    @Test
    void requestsThatCannotBeSentMakeRoomHoweverManyTheyAre() {
        var blocked = IntStream.range(0, MOST)
                .mapToObj(i -> ask(Urgency.KEEP, "first" + i))
                .toList();
        var unsendable = IntStream.range(0, 100_000)
                .mapToObj(i -> limiter.<String>pass(
                        Urgency.KEEP,
                        System.nanoTime() + Duration.ofHours(1).toNanos(),
                        () -> {
                            throw new UnavailableException("not connected");
                        },
                        () -> new UnavailableException("too late")))
                .toList();
        assertThat(unsendable).noneMatch(CompletableFuture::isDone);
        answerOldest();
        assertThat(unsendable).allMatch(CompletableFuture::isCompletedExceptionally);
        assertThat(blocked.get(1)).isNotDone();
        assertThat(ask(Urgency.LIST, "last")).isNotDone();
        assertThat(sent).contains("last");
    }

    /**
     * As those whose claims are too late, and who give their seats back then: each was served within the one before,
     * until the stack was full.
     */
    @Test
    void whoAsksAgainWhenARequestIsTooLateIsServedHoweverManyTheyAre() {
        var now = new AtomicLong();
        var one = new RequestLimiter(1, by(now));
        var first = new CompletableFuture<String>();
        var unused = one.pass(Urgency.KEEP, 1, () -> first, () -> new UnavailableException("too late"));
        var served = IntStream.range(0, 20_000)
                .mapToObj(i -> one.<String>pass(
                                Urgency.LOOK, 1, CompletableFuture::new, () -> new UnavailableException("too late"))
                        .exceptionallyCompose(error -> one.pass(
                                Urgency.KEEP,
                                3,
                                () -> CompletableFuture.completedFuture("yes"),
                                () -> new UnavailableException("too late"))))
                .toList();
        now.set(2);
        first.complete("yes");
        assertThat(served.stream()
                        .filter(answer -> answer.isDone() && !answer.isCompletedExceptionally())
                        .count())
                .as("how many were served")
                .isEqualTo(served.size());
        assertThat(one.pass(
                        Urgency.LOOK,
                        3,
                        () -> CompletableFuture.completedFuture("yes"),
                        () -> new UnavailableException("too late")))
                .as("the place was not lost")
                .isCompletedWithValue("yes");
    }

    private static Clock by(AtomicLong now) {
        return new Clock() {
            @Override
            public long nanos() {
                return now.get();
            }

            @Override
            public long wallMillis() {
                return 0;
            }
        };
    }

    @Test
    void whoAsksForMoreWhileARequestIsSentTakesAllPlacesThatAreFree() {
        var unused = limiter.<String>pass(
                Urgency.KEEP,
                LATER,
                () -> {
                    IntStream.range(0, MOST).forEach(i -> queue(Urgency.KEEP, "more" + i));
                    return CompletableFuture.failedFuture(new UnavailableException("not connected"));
                },
                () -> new UnavailableException("too late"));
        assertThat(underWay).hasSize(MOST);
    }

    private static CompletableFuture<String> hang(Collection<CompletableFuture<String>> all) {
        var answer = new CompletableFuture<String>();
        all.add(answer);
        return answer;
    }

    private void queue(Urgency urgency, String what) {
        var unused = ask(urgency, what);
    }

    private CompletableFuture<String> ask(Urgency urgency, String what) {
        return ask(urgency, what, Duration.ofHours(1));
    }

    private CompletableFuture<String> ask(Urgency urgency, String what, Duration patience) {
        return limiter.pass(
                urgency,
                System.nanoTime() + patience.toNanos(),
                () -> {
                    sent.add(what);
                    return hang(underWay);
                },
                () -> new UnavailableException("too late"));
    }

    private void answerOldest() {
        underWay.remove().complete("yes");
    }
}
