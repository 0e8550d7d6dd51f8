package dev.bellwether.redis;

import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Causes;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.RequestLimiter.Urgency;
import io.lettuce.core.api.async.RedisAsyncCommands;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * What a server is like: whether it keeps what it has acknowledged, and what an operator should know of it. Immutable.
 */
final class RedisDoctor {
    /** What a user needs. */
    static final String RIGHTS = "+@read +@write +@scripting +@pubsub +@connection +time +info +config|get";

    private static final String SENTINELS = "__sentinel__:hello";
    private static final int OLDEST = 7;
    private static final double FULL = 0.9;

    private final RedisSettings settings;
    private final Map<String, String> info;
    private final Map<String, String> config;
    private final long sentinels;
    private final String unknown;

    private RedisDoctor(
            RedisSettings settings,
            Map<String, String> info,
            Map<String, String> config,
            long sentinels,
            String unknown) {
        this.settings = settings;
        this.info = info;
        this.config = config;
        this.sentinels = sentinels;
        this.unknown = unknown;
    }

    /**
     * Looks at the server. Blocks.
     *
     * @throws ElectionException if no election can be held there
     * @throws UnavailableException if it does not answer, or is a replica
     */
    static RedisDoctor look(RedisSettings settings, RedisConnection connection) {
        try {
            return ask(settings, connection).join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof UnavailableException silent && silent.getCause() != null) { // it said nothing
                throw new UnavailableException(
                        "cannot reach " + settings + ": " + connection.complaints() + " (" + silent.getMessage() + ")",
                        silent);
            }
            throw e.getCause() instanceof ElectionException plain ? plain : e;
        }
    }

    /** Looks at the server, and fails as {@link #look} does. */
    static CompletableFuture<RedisDoctor> ask(RedisSettings settings, RedisConnection connection) {
        return answer(connection, RedisAsyncCommands::ping)
                .thenCompose(there -> facts(settings, connection))
                .thenApply(found -> {
                    found.requireUsable();
                    return found;
                });
    }

    private static CompletableFuture<RedisDoctor> facts(RedisSettings settings, RedisConnection connection) {
        var facts = answer(connection, commands -> commands.info("everything"))
                .thenApply(RedisDoctor::lines)
                .thenCompose(info -> orUnknown(settings, info, facts(settings, connection, info)));
        return orUnknown(settings, Map.of(), facts);
    }

    private static CompletableFuture<RedisDoctor> facts(
            RedisSettings settings, RedisConnection connection, Map<String, String> info) {
        return answer(connection, commands -> commands.configGet("*append*"))
                .thenCompose(config -> answer(connection, commands -> commands.pubsubNumsub(SENTINELS))
                        .thenApply(counts ->
                                new RedisDoctor(settings, info, config, counts.getOrDefault(SENTINELS, 0L), "")));
    }

    /** Some who offer it as a service have not got the commands, and a user may not have the right. */
    private static CompletableFuture<RedisDoctor> orUnknown(
            RedisSettings settings, Map<String, String> info, CompletableFuture<RedisDoctor> found) {
        return found.exceptionallyCompose(error -> {
            var cause = Causes.unwrapped(error);
            return cause instanceof ElectionException said && !(said instanceof UnavailableException)
                    ? CompletableFuture.completedFuture(
                            new RedisDoctor(settings, info, Map.of(), 0, String.valueOf(said.getMessage())))
                    : CompletableFuture.failedFuture(cause);
        });
    }

    private static Map<String, String> lines(String info) {
        return info.lines()
                .map(line -> line.split(":", 2))
                .filter(parts -> parts.length == 2)
                .collect(Collectors.toMap(parts -> parts[0], parts -> parts[1].strip(), (one, other) -> one));
    }

    /** Seats may depend on it, and in a crowd it must not come last. */
    private static <T> CompletableFuture<T> answer(
            RedisConnection connection, Function<RedisAsyncCommands<String, String>, CompletionStage<T>> command) {
        return connection.ask(Urgency.KEEP, RedisConnection.PATIENCE, command);
    }

    private void requireUsable() {
        if (says(info, "cluster_enabled").equals("1")) {
            throw new ElectionException(settings + " is a member of a cluster, whose fail-over loses what was"
                    + " acknowledged: name a server that is in none");
        }
        var version = says(info, "redis_version");
        if (version.matches("[0-6]\\..*")) {
            throw new ElectionException(
                    settings + " is version " + version + ": it must be Valkey, or Redis " + OLDEST + " or newer");
        }
        if (says(info, "role").equals("slave")) {
            throw new UnavailableException(settings + " is a replica of " + says(info, "master_host") + ":"
                    + says(info, "master_port") + ": name the primary");
        }
    }

    private static String says(Map<String, String> facts, String name) {
        return facts.getOrDefault(name, "");
    }

    /** Returns whether the server is known to keep what it has acknowledged. */
    boolean isDurable() {
        return losses().isEmpty();
    }

    /** Returns what changes when the server is started again. */
    String run() {
        return says(info, "run_id");
    }

    /** Returns for how long the server has run at least, by its clock, which counts whole seconds. */
    Duration uptime() {
        return Duration.ofSeconds(Math.max(0, number("uptime_in_seconds") - 1));
    }

    /**
     * Returns whether the server has rewritten its file since it was started: it does so when somebody switches
     * appendonly on, and rarely otherwise.
     */
    boolean wasSwitchedOn() {
        return rewrites() || !says(info, "aof_last_rewrite_time_sec").equals("-1");
    }

    private boolean rewrites() {
        return says(info, "aof_rewrite_in_progress").equals("1")
                || says(info, "aof_rewrite_scheduled").equals("1");
    }

    /**
     * Refuses a server that is not, unless the URI accepts that.
     *
     * @throws ElectionException saying what is wrong, and what would be right
     */
    void requireDurable() {
        if (!isDurable() && !settings.accepted()) {
            throw new ElectionException(refusal());
        }
    }

    /** Returns, for people, why nobody takes a seat on a server that is not. */
    String refusal() {
        return settings + " may lose what it has acknowledged, and two may lead then: " + whatIsWrong()
                + ". Or accept that two may lead for as long as a lease: write durability=accepted into the URI";
    }

    /** Returns, for people, by what it may lose what it has acknowledged, and what would be right. */
    String whatIsWrong() {
        return losses().stream()
                .map(loss -> loss.says() + " (" + loss.remedy() + ")")
                .collect(Collectors.joining("; "));
    }

    /** By what the server may lose what it has acknowledged. */
    private List<Finding> losses() {
        var losses = new ArrayList<Finding>();
        if (!unknown.isEmpty()) {
            losses.add(loss("it cannot be known whether it keeps them: " + unknown, "grant " + RIGHTS));
            return losses;
        }
        if (!says(config, "appendonly").equals("yes")) {
            losses.add(loss("appendonly is off: a restart loses all seats, or the last ones", "set appendonly yes"));
        } else if (!says(config, "appendfsync").equals("always")) {
            losses.add(loss(
                    "appendfsync is " + says(config, "appendfsync")
                            + ": a machine that loses its power loses the last seats",
                    "set appendfsync always"));
        } else if (says(config, "no-appendfsync-on-rewrite").equals("yes")) {
            losses.add(loss(
                    "no-appendfsync-on-rewrite is on: writes are not on disk for certain while the file is rewritten",
                    "set no-appendfsync-on-rewrite no"));
        }
        if (says(config, "appendonly").equals("yes") && rewrites() && number("aof_base_size") == 0) {
            losses.add(
                    loss( // or it is rewritten for the first time, which the server does not tell apart
                            "its file is being written for the first time: if appendonly has just been switched on,"
                                    + " a restart loses all seats",
                            "wait until INFO says aof_rewrite_in_progress:0"));
        }
        var policy = says(info, "maxmemory_policy");
        if (policy.startsWith("allkeys")) {
            losses.add(loss(
                    "maxmemory-policy is " + policy + ": a full server drops seats",
                    "set maxmemory-policy noeviction"));
        }
        var replicas = says(info, "connected_slaves");
        if (!replicas.equals("0")) {
            losses.add(loss(
                    "it has " + replicas + (replicas.equals("1") ? " replica" : " replicas")
                            + ": one that takes over lacks what had not reached it",
                    "use a server without"));
        }
        if (sentinels > 0) {
            losses.add(loss(
                    "a Sentinel watches it, and may let a replica take over", "use a server that no Sentinel watches"));
        }
        return losses;
    }

    private Finding loss(String says, String remedy) {
        return settings.accepted()
                ? Finding.warning("durability", says + "; durability=accepted accepts this", remedy)
                : Finding.error("durability", says, remedy + ", or accept it: durability=accepted");
    }

    List<Finding> findings() {
        var findings = new ArrayList<>(losses());
        if (findings.isEmpty()) {
            findings.add(Finding.ok("durability", "a write that was acknowledged is on the disk of one server"));
        }
        if (!unknown.isEmpty()) {
            return findings;
        }
        if (says(info, "aof_last_write_status").equals("err")) {
            findings.add(Finding.error(
                    "disk", "the last write to its file failed, and it accepts no more", "check its log and its disk"));
        }
        var most = number("maxmemory");
        if (most > 0 && number("used_memory") > most * FULL) {
            findings.add(Finding.warning(
                    "memory",
                    "it uses " + (number("used_memory") >> 20) + " MB of " + (most >> 20) + " MB",
                    "raise maxmemory, or keep less in it"));
        }
        var valkey = says(info, "valkey_version");
        findings.add(
                Finding.ok("version", valkey.isEmpty() ? "Redis " + says(info, "redis_version") : "Valkey " + valkey));
        return findings;
    }

    private long number(String name) {
        var text = says(info, name);
        return text.matches("[0-9]{1,18}") ? Long.parseLong(text) : 0;
    }
}
