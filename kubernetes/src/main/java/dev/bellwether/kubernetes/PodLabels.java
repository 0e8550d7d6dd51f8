package dev.bellwether.kubernetes;

import static dev.bellwether.kubernetes.KubernetesRecordStore.encoded;

import dev.bellwether.ElectionException;
import dev.bellwether.http.Json;
import dev.bellwether.spi.DelayThread;
import dev.bellwether.spi.RequestLimiter.Urgency;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps a label on the pod of anybody who holds a seat, so that a Service can select it: a hint, which fences nothing.
 * A pod that has crashed keeps its label until the next leader takes it off. Thread-safe; never blocks.
 */
final class PodLabels {
    private static final Logger log = LoggerFactory.getLogger(PodLabels.class);
    private static final String PREFIX = "leads.bellwether.dev/";
    private static final String NAME = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?";
    static final Duration PATIENCE = Duration.ofSeconds(5);
    /** Until it is seen whether our pod still has what it should. */
    static final Duration LOOK = Duration.ofMinutes(1);

    private static final Duration PAUSE = Duration.ofSeconds(5);
    private static final Duration LONGEST_PAUSE = Duration.ofMinutes(1);

    private final KubernetesClient client;
    private final String pod;
    private final Function<String, CompletionStage<?>> reading;
    private final Duration look;
    private final Map<String, Term> held = new ConcurrentHashMap<>(); // by election
    /**
     * Under which nonces this process has asked for a seat, and not seen yet whether it has it; by election, each with
     * the revision that the claim replaces. Guarded by this.
     */
    private final Map<String, Map<String, Long>> asked = new HashMap<>();
    /** How long the next try waits, by election, where the last one failed. */
    private final Map<String, Duration> pauses = new HashMap<>(); // guarded by this

    private final Set<String> pending = new HashSet<>(); // elections that are tried again later; guarded by this
    private CompletableFuture<Boolean> last = CompletableFuture.completedFuture(true); // guarded by this
    private boolean looks; // guarded by this
    private volatile boolean closed;

    /** A seat that this process took under this nonce, at this revision. */
    private record Term(String nonce, long revision) {}

    /**
     * Of this pod.
     *
     * @param reading reads the seat of an election, so that {@link #seen} is told of it
     * @param look how often it looks whether the pod still has its labels
     */
    PodLabels(KubernetesClient client, String pod, Function<String, CompletionStage<?>> reading, Duration look) {
        this.client = client;
        this.pod = pod;
        this.reading = reading;
        this.look = look;
    }

    /**
     * Refuses a name that a label cannot have.
     *
     * @throws ElectionException if it cannot
     */
    static void check(String election) {
        if (!election.matches(NAME)) {
            throw new ElectionException("election name \"" + election + "\" cannot be that of a label, which"
                    + " podLabel asks for: use at most 63 letters, digits, - _ and .");
        }
    }

    /**
     * This process takes the seat, as it is at this revision, under this nonce. Whether it has it will be seen, also if
     * the answer is lost.
     */
    synchronized void asks(String election, String nonce, long expected) {
        asked.computeIfAbsent(election, first -> new HashMap<>()).put(nonce, expected);
    }

    /** At this revision the seat is held under this nonce; empty if it is not held. What is seen may be old. */
    void seen(String election, String nonce, long revision) {
        var ours = held.get(election);
        if (ours != null && !ours.nonce.equals(nonce) && revision >= ours.revision && held.remove(election, ours)) {
            update(election);
        }
        if (hasAsked(election, nonce, revision)) {
            held.put(election, new Term(nonce, revision));
            update(election);
            lookLater();
        }
    }

    private synchronized boolean hasAsked(String election, String nonce, long revision) {
        var all = asked.get(election);
        if (all == null) {
            return false;
        }
        var isOurs = all.remove(nonce) != null;
        all.values().removeIf(expected -> expected < revision); // these claims are lost
        if (all.isEmpty()) {
            asked.remove(election);
        }
        return isOurs;
    }

    private synchronized void lookLater() {
        if (!looks && !closed && !held.isEmpty()) {
            looks = true;
            DelayThread.after(look).execute(this::look);
        }
    }

    /**
     * Sets what somebody has taken off: a former leader that did not know yet that it had lost the seat, or a person.
     */
    private synchronized void look() {
        looks = false;
        if (closed || held.isEmpty()) {
            return;
        }
        last = last.thenCompose(done -> client.get(
                        Urgency.LIST, "list", pods("?fieldSelector=" + encoded("metadata.name=" + pod)), PATIENCE))
                .handle((answer, error) -> {
                    if (error == null) {
                        setMissing(answer.json().list("items"));
                    } else {
                        log.debug("{}: cannot look at the labels of pod {}: {}", client, pod, error.getMessage());
                    }
                    lookLater();
                    return true;
                });
    }

    private synchronized void setMissing(List<Json> pods) {
        for (var one : pods) {
            var labels = one.at("metadata").at("labels");
            if (one.at("metadata").text("name").equals(pod)) {
                held.keySet().stream()
                        .filter(election -> !labels.flag(PREFIX + election) && !pending.contains(election))
                        .forEach(this::update);
            }
        }
    }

    private synchronized void update(String election) {
        last = last.thenCompose(done -> {
                    var term = held.get(election);
                    return term != null ? on(election, term) : off(election, pod);
                })
                .handle((done, error) -> {
                    if (error == null) {
                        succeeded(election);
                    } else {
                        failed(election, error);
                    }
                    return true;
                });
    }

    private synchronized void succeeded(String election) {
        if (pauses.remove(election) != null) {
            log.info("{}: pod {} has the right label for \"{}\" again", client, pod, election);
        }
    }

    /** One try is pending for an election, however often its leader changes meanwhile. */
    private synchronized void failed(String election, Throwable error) {
        if (!pauses.containsKey(election)) {
            log.warn(
                    "{}: pod {} does not have the label that tells whether it leads \"{}\"; it is tried again and"
                            + " again: {}",
                    client,
                    pod,
                    election,
                    error.getMessage());
        }
        var pause = pauses.computeIfAbsent(election, first -> PAUSE);
        if (!closed && pending.add(election)) {
            var next = pause.multipliedBy(2);
            pauses.put(election, next.compareTo(LONGEST_PAUSE) < 0 ? next : LONGEST_PAUSE);
            DelayThread.after(pause).execute(() -> again(election));
        }
    }

    private synchronized void again(String election) {
        pending.remove(election);
        if (!closed && pauses.containsKey(election)) {
            update(election);
        }
    }

    /**
     * Labels our pod, and takes the label off all others, which may have crashed. One that leads by now keeps it: this
     * process may have been frozen, and reads the seat before.
     */
    private CompletableFuture<Boolean> on(String election, Term term) {
        return patch(pod, election, "\"true\"").thenCompose(done -> {
            var selector = encoded(PREFIX + election);
            return client.get(Urgency.LIST, "list", pods("?labelSelector=" + selector), PATIENCE)
                    .thenCompose(answer -> {
                        var others = answer.json().list("items").stream()
                                .map(one -> one.at("metadata").text("name"))
                                .filter(name -> !name.equals(pod))
                                .toList();
                        return others.isEmpty()
                                ? CompletableFuture.completedFuture(true)
                                : reading.apply(election)
                                        .thenCompose(read -> term.equals(held.get(election))
                                                ? off(election, others)
                                                : CompletableFuture.completedFuture(true));
                    });
        });
    }

    private CompletableFuture<Boolean> off(String election, List<String> names) {
        return CompletableFuture.allOf(
                        names.stream().map(name -> off(election, name)).toArray(CompletableFuture[]::new))
                .thenApply(all -> true);
    }

    private CompletableFuture<Boolean> off(String election, String name) {
        return patch(name, election, "null");
    }

    private CompletableFuture<Boolean> patch(String name, String election, String value) {
        var body = "{\"metadata\":{\"labels\":{\"" + PREFIX + election + "\":" + value + "}}}";
        return client.write(Urgency.LIST, "patch", pods("/" + name), body, PATIENCE)
                .thenApply(answer -> {
                    if (!answer.isDone() && name.equals(pod)) {
                        throw new ElectionException("there is no pod \"" + name + "\": name it by ?pod=");
                    }
                    return true;
                });
    }

    private String pods(String rest) {
        return "/api/v1/namespaces/" + client.access().namespace() + "/pods" + rest;
    }

    void close() {
        closed = true;
    }
}
