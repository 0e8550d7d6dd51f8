package dev.bellwether.kubernetes;

import dev.bellwether.fixtures.KubernetesServers;
import dev.bellwether.http.Json;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Matcher;
import org.jspecify.annotations.Nullable;

/**
 * A small model of client-go's elector: its rules and its times, with {@code ReleaseOnCancel}. It renews without
 * looking; counts another's lease by its own clock from when it saw the record change, which it compares by the second;
 * gives up when it had no answer for a renew deadline; and tries to release before its work is told to stop.
 */
final class ClientGoModel implements ForeignElector {
    private static final int DONE = 200;
    private static final int MADE = 201;
    private static final int ABSENT = 404;

    private final Setting setting;
    private final HttpClient http;
    private final Thread thread;
    private volatile boolean leads;
    private volatile boolean closed;
    private String lease = ""; // as it was seen last
    private String seen = ""; // what it said, without fractions of seconds
    private long seenNanos;

    ClientGoModel(KubernetesServers servers, Setting setting) {
        this.setting = setting;
        http = servers.client();
        thread = new Thread(this::run, "client-go-" + setting.identity());
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public boolean leads() {
        return leads;
    }

    @Override
    public void close() {
        closed = true;
        thread.interrupt();
        try {
            thread.join(Duration.ofSeconds(30).toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void run() {
        var timings = setting.timings();
        while (!closed) {
            if (attempt(in(timings.renewDeadline()))) {
                leads = true;
                renew(timings);
                release(in(timings.renewDeadline()));
                leads = false;
            }
            pause((long) (timings.retryPeriod().toNanos()
                    * (1 + 1.2 * ThreadLocalRandom.current().nextDouble())));
        }
    }

    private void renew(Timings timings) {
        var renewed = true;
        while (renewed && !closed) {
            pause(timings.retryPeriod().toNanos());
            var deadline = in(timings.renewDeadline());
            renewed = false;
            while (!renewed && !closed && deadline - System.nanoTime() > 0) {
                renewed = attempt(deadline);
                if (!renewed) {
                    pause(Math.min(timings.retryPeriod().toNanos(), deadline - System.nanoTime()));
                }
            }
        }
    }

    private static long in(Duration time) {
        return System.nanoTime() + time.toNanos();
    }

    private boolean attempt(long deadline) {
        if (leads && holder().equals(setting.identity()) && put(deadline)) {
            return true;
        }
        var found = send("GET", "/" + setting.name(), "", deadline);
        if (found == null || (found.statusCode() != DONE && found.statusCode() != ABSENT)) {
            return false;
        }
        if (found.statusCode() == ABSENT) {
            var made = send(
                    "POST",
                    "",
                    "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\""
                            + setting.name() + "\"}," + spec(setting.identity(), 0) + "}",
                    deadline);
            return made != null && made.statusCode() == MADE && note(made.body());
        }
        note(found.body());
        var seconds = Json.parse(lease).at("spec").number("leaseDurationSeconds");
        var isOver = System.nanoTime() - seenNanos > Duration.ofSeconds(seconds).toNanos();
        return (holder().isEmpty() || holder().equals(setting.identity()) || isOver) && put(deadline);
    }

    private String holder() {
        return lease.isEmpty() ? "" : Json.parse(lease).at("spec").text("holderIdentity");
    }

    private boolean put(long deadline) {
        var transitions = Json.parse(lease).at("spec").number("leaseTransitions");
        var next = spec(setting.identity(), holder().equals(setting.identity()) ? transitions : transitions + 1);
        return replace(next, deadline);
    }

    private void release(long deadline) {
        if (holder().equals(setting.identity())) {
            Thread.interrupted(); // the release is not cancelled
            replace(
                    spec("", Json.parse(lease).at("spec").number("leaseTransitions"))
                            .replaceAll("\"leaseDurationSeconds\":[0-9]+", "\"leaseDurationSeconds\":1"),
                    deadline);
        }
    }

    /** Writes another specification; all else stays, annotations too. */
    private boolean replace(String spec, long deadline) {
        var body = lease.replaceFirst("\"spec\":\\{[^}]*\\}", Matcher.quoteReplacement(spec));
        var answer = send("PUT", "/" + setting.name(), body, deadline);
        return answer != null && answer.statusCode() == DONE && note(answer.body());
    }

    /** The test's server refuses an empty holder where the built-in Lease's accepts one: it is left out. */
    private String spec(String holder, long transitions) {
        var now = StoredLease.Spec.time(Instant.now());
        return "\"spec\":{" + (holder.isEmpty() ? "" : "\"holderIdentity\":\"" + holder + "\",")
                + "\"leaseDurationSeconds\":" + setting.timings().lease().toSeconds() + ",\"acquireTime\":\"" + now
                + "\",\"renewTime\":\"" + now + "\",\"leaseTransitions\":" + transitions + "}";
    }

    private boolean note(String found) {
        var spec = Json.parse(found).at("spec");
        var said = spec.text("holderIdentity")
                + spec.number("leaseTransitions")
                + spec.number("leaseDurationSeconds")
                + spec.text("renewTime").replaceAll("[.].*", "")
                + spec.text("acquireTime").replaceAll("[.].*", "");
        if (!said.equals(seen)) {
            seen = said;
            seenNanos = System.nanoTime();
        }
        lease = found;
        return true;
    }

    private @Nullable HttpResponse<String> send(String method, String path, String body, long deadline) {
        var left = deadline - System.nanoTime();
        if (left <= 0) {
            return null;
        }
        var request = HttpRequest.newBuilder(URI.create(
                        "https://127.0.0.1:" + setting.port() + KubernetesServers.leases(setting.namespace()) + path))
                .header("Content-Type", "application/json")
                .timeout(Duration.ofNanos(left))
                .method(method, HttpRequest.BodyPublishers.ofString(body))
                .build();
        try {
            return http.send(request, HttpResponse.BodyHandlers.ofString());
        } catch (IOException e) {
            return null;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return null;
        }
    }

    private void pause(long nanos) {
        try {
            Thread.sleep(Math.max(0, nanos / 1_000_000));
        } catch (InterruptedException e) {
            if (!closed) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public String toString() {
        return setting.identity();
    }
}
