package dev.bellwether.http;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Causes;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.Endpoint;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.RequestLimiter;
import dev.bellwether.spi.RequestLimiter.Urgency;
import dev.bellwether.spi.TlsStores;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.security.Security;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * The members of a store that are asked by HTTP. Thread-safe. Never blocks, but where that is said.
 *
 * <p>Requests go to one member as long as it answers. Reading goes on to the next one within its time; writing never
 * does, since whether the first was carried out is unknown. A request that had to wait for its turn, and has no answer
 * in the rest of its time, says nothing of the member: see {@link #isOfNobody}.
 */
public final class HttpMembers {
    /** The status of a request that was refused because there were too many. */
    public static final int TOO_MANY = 429;

    /** Each has a connection of its own. */
    private static final int MOST_UNDER_WAY = 64;

    private static final int OK = 200;
    private static final int MOST_OK = 299;
    private static final int FAILED = 500;
    private static final long CLOCK_TOLERANCE_MILLIS = 2_000;
    private static final String FAILED_LOOK_UPS = "networkaddress.cache.negative.ttl";
    private static final String NO_TIME = "0";
    private static final Duration LOOK = Duration.ofMillis(300);

    private final ConnectUri uri;
    private final List<URI> members;
    private final Supplier<ReplaceableClient> http;
    private final RequestLimiter limiter;
    private final AtomicInteger preferred = new AtomicInteger();
    private volatile boolean understood;
    private volatile Runnable moved = () -> {};
    private String clockRead = ""; // guarded by this: a member's clock, as it was read last
    private long clockAheadMillis =
            Long.MIN_VALUE; // guarded by this: what a member's clock shows, less our monotonic one

    /** Asks one member, once; fails with an {@link UnavailableException} if another may be asked instead. */
    @FunctionalInterface
    public interface Attempt<T> {
        /** Asks this member. */
        CompletableFuture<T> ask(int member, RequestTime time);
    }

    /** What a member has answered. */
    public record Response(int statusCode, HttpHeaders headers, String body) {}

    /** What a member answers line by line, without an end perhaps. */
    public record Lines(int statusCode, HttpHeaders headers, Stream<String> lines) {
        /** Returns whether it is what was asked for, and no refusal. */
        public boolean isSuccess() {
            return statusCode >= OK && statusCode <= MOST_OK;
        }
    }

    /** Asks the members at these addresses, which the URI names. */
    public HttpMembers(ConnectUri uri, List<URI> members, ReplaceableClient http) {
        this(uri, members, () -> http, MOST_UNDER_WAY);
    }

    /** Asks the members at these addresses, by the client that is right at that time, so many requests at a time. */
    public HttpMembers(ConnectUri uri, List<URI> members, Supplier<ReplaceableClient> http, int most) {
        limiter = new RequestLimiter(most);
        this.uri = uri;
        this.members = List.copyOf(members);
        this.http = http;
    }

    /**
     * Returns the addresses of the members that a URI names; none if it names them in no way that is known. They speak
     * TLS if the parameter {@code tls} or a store of certificates says so.
     *
     * @throws ElectionException if a host or a port cannot be asked, or the URI wants certificates and no TLS
     */
    public static List<URI> of(ConnectUri uri, int usualPort) {
        var isSecure = uri.flag("tls").orElse(TlsStores.areIn(uri));
        if (!isSecure && TlsStores.areIn(uri)) {
            throw new ElectionException(uri + " names certificates and speaks no TLS: leave tls=false out, or them");
        }
        var scheme = isSecure ? "https://" : "http://";
        var hosts =
                Arrays.stream(uri.authority().split(",", -1)).map(String::strip).toList();
        hosts.forEach(host -> requireNoUnderscore(uri, host));
        try {
            var members = hosts.stream()
                    .map(host -> URI.create(
                            scheme + host + (host.matches(".*:[0-9]+") && !host.endsWith("]") ? "" : ":" + usualPort)))
                    .toList();
            if (members.stream().anyMatch(member -> member.getHost() == null)) {
                return List.of();
            }
            members.forEach(member -> requirePort(uri, member));
            return members;
        } catch (IllegalArgumentException e) {
            return List.of();
        }
    }

    /** An address may name any number, and no connection to it can ever be made. */
    private static void requirePort(ConnectUri uri, URI member) {
        if (!Endpoint.isPort(member.getPort())) {
            throw new ElectionException(uri + ": the port of " + uri.redact(member.getAuthority()) + " is none: write a"
                    + " number from 1 to " + Endpoint.LARGEST_PORT);
        }
    }

    /** Names of containers often hold one, and Java's client asks no such host. */
    private static void requireNoUnderscore(ConnectUri uri, String host) {
        if (host.contains("_")) {
            throw new ElectionException(uri + ": the host name " + uri.redact(host) + " holds an underscore, and Java's"
                    + " HTTP client asks no such host: name it by letters, digits, - and ., or by its address");
        }
    }

    /**
     * Returns a credential as a header may hold it, without white space around it.
     *
     * @param what it is, for people
     * @throws AccessRefusedException if no header may hold it, which does not repeat it, as the JDK would
     */
    public static String credential(String what, String value) {
        var stripped = value.strip();
        try {
            var unused = HttpRequest.newBuilder().header("Authorization", stripped);
            return stripped;
        } catch (IllegalArgumentException e) {
            throw new AccessRefusedException(what + " holds a line break, or another character that no HTTP header may"
                    + " hold. Write it on one line, as it was issued");
        }
    }

    /** Has this told when requests go to another member from now on. */
    public void onMove(Runnable moved) {
        this.moved = moved;
    }

    /** Returns how many there are. */
    public int size() {
        return members.size();
    }

    /** Returns the member that is asked now. */
    public int preferred() {
        return preferred.get();
    }

    /** A member gave no answer: from now on others are asked first, if it was the one. */
    public void left(int member) {
        if (preferred.compareAndSet(member, (member + 1) % members.size())) {
            moved.run();
        }
    }

    /** A member gave no answer, for this reason: does the same, unless that {@linkplain #isOfNobody says nothing}. */
    public void left(int member, Throwable why) {
        if (!isOfNobody(why)) {
            left(member);
        }
    }

    /** Returns the address of a member, for people. */
    public String name(int member) {
        return members.get(member).getAuthority();
    }

    /** Returns where a member answers at this path. */
    public URI at(int member, String path) {
        return members.get(member).resolve(path);
    }

    /** Takes note that a member has answered as members of this store do: later trouble passes. */
    public void understood() {
        understood = true;
    }

    /** Returns whether any has. */
    public boolean isUnderstood() {
        return understood;
    }

    /** Returns whether requests wait. */
    public boolean isCrowded() {
        return limiter.isCrowded();
    }

    // ---------------------------------------------------------------- asking

    /** Asks something that changes nothing, the members one after the other. */
    public <T> CompletableFuture<T> read(Urgency urgency, Duration timeout, Attempt<T> attempt) {
        return read(urgency, RequestTime.of(timeout), attempt);
    }

    /** Does the same in what is left of the time. */
    public <T> CompletableFuture<T> read(Urgency urgency, RequestTime time, Attempt<T> attempt) {
        return pass(urgency, members.size(), time, onceMore(attempt));
    }

    /** Asks for something to be done; no answer means that it may have been done, or will be. */
    public <T> CompletableFuture<T> write(Urgency urgency, Duration timeout, Attempt<T> attempt) {
        return write(urgency, RequestTime.of(timeout), attempt);
    }

    /** Does the same in what is left of the time. */
    public <T> CompletableFuture<T> write(Urgency urgency, RequestTime time, Attempt<T> attempt) {
        return pass(urgency, 1, time, attempt);
    }

    private <T> CompletableFuture<T> pass(Urgency urgency, int tries, RequestTime time, Attempt<T> attempt) {
        var deadline = System.nanoTime() + time.left().toNanos();
        return limiter.pass(
                urgency,
                deadline,
                () -> attempt(tries, deadline, time, attempt),
                () -> new UnavailableException(uri + " was not asked within " + Durations.show(time.left())
                        + ", because too many others came first"));
    }

    /** A server that has gone meanwhile, and is back, is found out by the next who uses a connection from before. */
    private static <T> Attempt<T> onceMore(Attempt<T> attempt) {
        return (member, time) -> {
            var deadline = System.nanoTime() + time.left().toNanos();
            return attempt.ask(member, time)
                    .exceptionallyCompose(error -> hasBroken(error)
                            ? attempt.ask(member, time.until(deadline))
                                    .exceptionallyCompose(
                                            again -> CompletableFuture.failedFuture(isOfNobody(again) ? error : again))
                            : CompletableFuture.failedFuture(error));
        };
    }

    private static boolean hasBroken(Throwable error) {
        var why = Causes.unwrapped(error) instanceof UnavailableException cause ? cause.getCause() : null;
        return why instanceof IOException && !isTimeout(why) && !(why instanceof ConnectException);
    }

    private <T> CompletableFuture<T> attempt(int tries, long deadline, RequestTime time, Attempt<T> attempt) {
        var member = preferred.get();
        var left = time.until(deadline);
        return attempt.ask(member, tries > 1 ? left.half() : left).exceptionallyCompose(error -> {
            var cause = Causes.unwrapped(error);
            if (cause instanceof UnavailableException) {
                left(member, cause);
                if (tries > 1) {
                    return attempt(tries - 1, deadline, left.half(), attempt);
                }
            }
            return CompletableFuture.failedFuture(cause);
        });
    }

    /**
     * Sends a request to a member, and waits so long for the whole of its answer. Cancelling that gives the request up.
     *
     * @param what it is, for people
     */
    public CompletableFuture<Response> send(int member, HttpRequest.Builder request, String what, RequestTime time) {
        // before Java 26 the time of a request is over with the first bytes of its answer: this one is for all of it
        var answer = exchange(
                request.timeout(time.left()),
                time,
                HttpResponse.BodyHandlers.ofString(),
                (info, body) -> new Response(info.statusCode(), info.headers(), body));
        return cancelling(answer, answer.handle((response, error) -> {
            if (response == null) {
                throw unanswered(member, what, time, error);
            }
            noteClock(response);
            return response;
        }));
    }

    /** Returns what follows from something, such that cancelling the one cancels the other. */
    public static <T> CompletableFuture<T> cancelling(CompletableFuture<?> source, CompletableFuture<T> following) {
        var unused = following.exceptionally(error -> {
            if (following.isCancelled()) {
                source.cancel(true);
            }
            return null;
        });
        return following;
    }

    /**
     * Opens a stream of lines, and waits so long for its beginning. The request has no time of its own: from Java 26 on
     * it would be one for the whole stream.
     */
    public CompletableFuture<Lines> stream(HttpRequest.Builder request, Duration timeout) {
        return exchange(
                request,
                RequestTime.of(timeout),
                HttpResponse.BodyHandlers.ofLines(),
                (info, body) -> new Lines(info.statusCode(), info.headers(), body));
    }

    /**
     * The client hands each answer on by a thread of the common pool, which an application may keep busy: the answer is
     * taken before that. That there is none, such as of a connection that is refused, comes by that thread only, and so
     * by the timeout if the pool is busy. If none is wanted any more, the connection is given up; if none came in time,
     * the client may be, before anybody asks again.
     */
    private <B, T> CompletableFuture<T> exchange(
            HttpRequest.Builder request,
            RequestTime time,
            HttpResponse.BodyHandler<B> handler,
            BiFunction<HttpResponse.ResponseInfo, B, T> form) {
        var answer = new CompletableFuture<T>();
        var replaceable = http.get();
        var client = replaceable.current();
        var sent = sent(client, request.version(HttpClient.Version.HTTP_1_1).build(), info -> {
            var subscriber = handler.apply(info);
            var unused = subscriber
                    .getBody()
                    .handle((body, error) -> error == null
                            ? answer.complete(form.apply(info, body))
                            : answer.completeExceptionally(error));
            return subscriber;
        });
        var unused = sent.exceptionally(error -> {
            answer.completeExceptionally(error);
            return null;
        });
        var timed = answer.orTimeout(time.left().toNanos(), TimeUnit.NANOSECONDS);
        var unusedToo = timed.exceptionally(error -> {
            sent.cancel(true);
            return null;
        });
        return cancelling(timed, timed.whenComplete((made, error) -> { // not called if that is cancelled
            if (error == null) {
                replaceable.answered(client);
            } else if (time.tells() || !isTimeout(error)) {
                replaceable.unanswered(client);
            }
        }));
    }

    /** A client of the application's throws what its executor does. */
    private static <B> CompletableFuture<HttpResponse<B>> sent(
            HttpClient client, HttpRequest request, HttpResponse.BodyHandler<B> handler) {
        try {
            return client.sendAsync(request, handler);
        } catch (RejectedExecutionException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private RuntimeException unanswered(int member, String what, RequestTime time, Throwable error) {
        var cause = Causes.unwrapped(error);
        var who = uri + ": " + name(member);
        if (cause instanceof SSLException && !understood && !isBreak(cause.getCause())) {
            return wrong(
                    who + " and we do not agree on TLS: check whether it speaks TLS, and the certificates of both (it"
                            + " said: " + uri.redact(String.valueOf(cause.getMessage())) + ")",
                    cause);
        }
        if (!time.tells() && isTimeout(cause)) {
            return new UnavailableException(
                    who + " did not answer " + what + " within " + Durations.show(time.left())
                            + ", which was left when it was asked",
                    time.isOver());
        }
        if (cause instanceof RejectedExecutionException) {
            return new UnavailableException(
                    who + " gave no answer to " + what + ": the executor of the HTTP client takes no more tasks ("
                            + cause + ")",
                    cause);
        }
        var why = isTimeout(cause)
                ? " did not answer " + what + " within " + Durations.show(time.left())
                : cause instanceof ConnectException
                        ? " takes no connection"
                        : " broke the connection at " + what
                                + " (does it want TLS? then write tls=true, or https:// before its address): " + cause;
        return new UnavailableException(who + why, cause);
    }

    /** What answers at the address of a member is none, or does not agree with us on TLS; other members may be well. */
    private static final class WrongMemberException extends Exception {
        private static final long serialVersionUID = 1;

        private WrongMemberException(@Nullable Throwable cause) {
            super(cause);
        }
    }

    /** Returns whether a status says that another time, or another member, will do. */
    public static boolean passes(int status) {
        return status >= FAILED || status == TOO_MANY;
    }

    /** Returns the error that says what answers at the address of a member, and what would be right. */
    public static ElectionException wrong(String message, @Nullable Throwable cause) {
        return new ElectionException(message, new WrongMemberException(cause));
    }

    private static boolean isOfWrongMember(ElectionException error) {
        return error.getCause() instanceof WrongMemberException;
    }

    private static boolean isTimeout(Throwable error) {
        var cause = Causes.unwrapped(error);
        return cause instanceof HttpTimeoutException || cause instanceof TimeoutException;
    }

    /**
     * Returns whether a request failed because its time was too short, or no thread took it, which says nothing of the
     * member.
     */
    public static boolean isOfNobody(Throwable error) {
        var cause = Causes.unwrapped(error);
        return cause instanceof RejectedExecutionException
                || (cause instanceof UnavailableException
                        && (cause.getCause() instanceof RequestTime.ShortTimeException
                                || cause.getCause() instanceof RejectedExecutionException));
    }

    /** The other side went away while TLS began: that says nothing of certificates. */
    private static boolean isBreak(@Nullable Throwable cause) {
        return cause instanceof IOException && !(cause instanceof SSLException);
    }

    // ---------------------------------------------------------------- at the beginning

    /**
     * Asks each member for a sign, and returns when they have answered, or have not. Blocks. One that is wrong is in
     * nobody's way while another answers, or may yet.
     *
     * @throws ElectionException if something is wrong that a person must fix
     * @throws UnavailableException if none answers as it should, and one may yet
     */
    public void requireReachable(IntFunction<CompletableFuture<?>> sign) {
        var asked = IntStream.range(0, members.size()).mapToObj(sign).toList();
        var answers = 0;
        var wrong = 0;
        Optional<ElectionException> said = Optional.empty();
        for (var one : asked) {
            try {
                var unused = answer(one);
                answers++;
            } catch (UnavailableException e) {
                var silent = e.getCause() instanceof ConnectException
                        || e.getCause() instanceof HttpTimeoutException
                        || e.getCause() instanceof TimeoutException;
                said = silent ? said : Optional.of(e); // it says what is wrong
            } catch (ElectionException e) {
                if (!isOfWrongMember(e)) {
                    throw e;
                }
                wrong++;
                said = said.or(() -> Optional.of(e));
            }
        }
        if (answers > 0) {
            return;
        }
        var first = said.orElseGet(
                () -> new UnavailableException("cannot reach " + uri + ": " + Endpoint.complaints(endpoints(), LOOK)));
        throw isOfWrongMember(first) && wrong < asked.size()
                ? new UnavailableException(first.getMessage() + "; no other member answers", first)
                : first;
    }

    /**
     * Returns what to do about members that are known by name: the JDK looks a name up at each request, and remembers
     * that this failed.
     */
    public Optional<Finding> lookUps() {
        var names = members.stream()
                .map(URI::getHost)
                .filter(host -> !host.startsWith("[") && !host.matches("[0-9.]+|localhost"))
                .distinct()
                .toList();
        var remembered = Optional.ofNullable(Security.getProperty(FAILED_LOOK_UPS))
                .orElseGet(() -> System.getProperty("sun.net.inetaddr.negative.ttl", "10"));
        if (names.isEmpty() || remembered.equals(NO_TIME)) {
            return Optional.empty();
        }
        return Optional.of(Finding.warning(
                "look-up",
                String.join(", ", names) + (names.size() == 1 ? " is" : " are") + " looked up at each request. If that"
                        + " fails once, the JVM takes it as failed for "
                        + (remembered.startsWith("-") ? "ever" : remembered + " s") + " (" + FAILED_LOOK_UPS
                        + "), in which a lease may be lost",
                "name addresses, or start java with -Djava.security.properties=FILE and in that file " + FAILED_LOOK_UPS
                        + "=0"));
    }

    /**
     * Returns what to tell in place of the number of members, if nobody tells it: nothing else is kept back for that.
     *
     * @param what it is, for people
     */
    public static Finding quorumUnknown(String what, ElectionException why) {
        return why instanceof AccessRefusedException
                ? Finding.warning(
                        "rights", "we may not ask " + what, "ask for it with more rights; elections do not need it")
                : Finding.warning(
                        "quorum", "it is not known " + what + ": " + why.getMessage(), "run the doctor again");
    }

    private List<Endpoint> endpoints() {
        return members.stream()
                .map(member -> new Endpoint(member.getHost().replaceAll("[\\[\\]]", ""), member.getPort()))
                .toList();
    }

    /** Waits for an answer; fails as it does. Blocks. */
    public static <T> T answer(CompletionStage<T> asked) {
        try {
            return asked.toCompletableFuture().join();
        } catch (CompletionException e) {
            throw e.getCause() instanceof ElectionException plain ? plain : e;
        }
    }

    // ---------------------------------------------------------------- what time it is there

    /** A member tells the time in full seconds: it is never less than the most that any answer leads to. */
    private synchronized void noteClock(Response response) {
        var date = response.headers().firstValue("Date").orElse("");
        if (date.equals(clockRead)) {
            return; // the first answer of a second leads to the most, and none of the others is read
        }
        clockRead = date;
        try {
            var ahead = ZonedDateTime.parse(date, DateTimeFormatter.RFC_1123_DATE_TIME)
                            .toInstant()
                            .toEpochMilli()
                    - System.nanoTime() / 1_000_000;
            if (ahead > clockAheadMillis || ahead < clockAheadMillis - CLOCK_TOLERANCE_MILLIS) {
                clockAheadMillis = ahead;
            }
        } catch (DateTimeException e) {
            // it is for display only
        }
    }

    /** Returns what a member's clock shows now, about; for display. */
    public synchronized Instant now() {
        return clockAheadMillis == Long.MIN_VALUE
                ? Instant.now()
                : Instant.ofEpochMilli(clockAheadMillis + System.nanoTime() / 1_000_000);
    }

    /** Returns the URI without secrets. */
    @Override
    public String toString() {
        return uri.toString();
    }
}
