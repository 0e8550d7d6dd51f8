package dev.bellwether.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class ListenersTest {
    private final Listeners<List<String>> listeners = new Listeners<>();

    @Test
    void thoseOfANameAreToldUntilTheyLeave() {
        List<String> one = new ArrayList<>();
        List<String> other = new ArrayList<>();
        var first = listeners.add("billing", one);
        listeners.add("archive", other);
        assertThat(listeners.names()).containsExactlyInAnyOrder("billing", "archive");
        listeners.tell("billing", all -> all.add("a"));
        listeners.tellAll(all -> all.add("b"));
        first.close();
        first.close();
        listeners.tell("billing", all -> all.add("c"));
        assertThat(one).containsExactly("a", "b");
        assertThat(other).containsExactly("b");
        assertThat(listeners.has("billing")).isFalse();
        assertThat(listeners.has("archive", other)).isTrue();
        assertThat(listeners.isEmpty()).isFalse();
    }

    @Test
    void whatIsKeptOfANameIsForgottenWithTheLast() {
        var forgotten = new AtomicInteger();
        var noted = new AtomicInteger();
        var first = listeners.add("billing", new ArrayList<>(List.of("1")), forgotten::incrementAndGet);
        var second = listeners.add("billing", new ArrayList<>(List.of("2")), forgotten::incrementAndGet);
        first.close();
        listeners.ifAny("billing", noted::incrementAndGet);
        assertThat(forgotten).hasValue(0);
        second.close();
        second.close();
        listeners.ifAny("billing", noted::incrementAndGet);
        assertThat(forgotten).hasValue(1);
        assertThat(noted).as("notes for those who listen").hasValue(1);
    }

    /** On NATS, etcd, Consul and Kubernetes it kept those from being told who came later. */
    @Test
    void oneThatFailsKeepsNoOtherFromBeingTold() {
        List<String> told = new ArrayList<>();
        listeners.add("billing", List.of()); // to which nothing can be added
        listeners.add("billing", told);
        listeners.tell("billing", all -> all.add("a"));
        listeners.tellNews("billing", 1, all -> all.add("b"));
        assertThat(told).containsExactly("a", "b");
    }

    @Test
    void aVersionIsToldOnceWhileSomebodyListens() {
        List<String> told = new ArrayList<>();
        var first = listeners.add("billing", told);
        listeners.tellNews("billing", 1, all -> all.add("a"));
        listeners.tellNews("billing", 1, all -> all.add("a again"));
        listeners.tellNews("billing", 2, all -> all.add("b"));
        first.close();
        listeners.tellNews("billing", 2, all -> all.add("nobody"));
        listeners.add("billing", told);
        listeners.tellNews("billing", 2, all -> all.add("c"));
        assertThat(told).containsExactly("a", "b", "c");
    }

    /** What cannot be begun, such as a thread for which there is no room, is told to the one that came, and to no other. */
    @Test
    void whatFailedToBeginIsBegunByTheNext() {
        var tries = new AtomicInteger();
        var late = new Listeners<List<String>>(() -> {
            if (tries.incrementAndGet() == 1) {
                throw new OutOfMemoryError("unable to create native thread");
            }
        });
        List<String> first = new ArrayList<>();
        assertThatThrownBy(() -> late.add("billing", first)).isInstanceOf(OutOfMemoryError.class);
        List<String> second = new ArrayList<>();
        late.add("billing", second);
        late.add("archive", new ArrayList<>());
        late.tellAll(all -> all.add("a"));
        assertThat(tries).hasValue(2);
        assertThat(first).isEmpty();
        assertThat(second).containsExactly("a");
    }
}
