package dev.bellwether.dynamodb;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Causes;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.RequestLimiter;
import dev.bellwether.spi.RequestLimiter.Urgency;
import java.net.UnknownHostException;
import java.security.GeneralSecurityException;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import software.amazon.awssdk.awscore.exception.AwsServiceException;
import software.amazon.awssdk.core.SdkResponse;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.model.ConditionalCheckFailedException;
import software.amazon.awssdk.services.dynamodb.model.ResourceNotFoundException;

/** Asks DynamoDB, and makes of what it answers, or does not, what it means. Thread-safe. Never blocks the caller. */
final class TableClient implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(TableClient.class);
    /** Each has a connection of its own. */
    static final int MOST_UNDER_WAY = 64;

    /** The SDK has one caller wait while it fetches credentials; the others use those that are still valid. */
    private static final int THREADS = 3;

    private static final int FAILED = 500;
    private static final String REFUSALS = "AccessDenied.*|UnrecognizedClient.*|.*Signature.*|.*Token.*";
    private static final String BUSY =
            "LimitExceeded.*|ReplicatedWriteConflict.*|ResourceInUse.*|TransactionConflict.*";

    private final DynamoDbSettings settings;
    private final DynamoDbAsyncClient sdk;
    private final Runnable unanswered;
    private final RequestLimiter limiter = new RequestLimiter(MOST_UNDER_WAY);
    private final AtomicLong breaks = new AtomicLong();
    /** How far DynamoDB's clock, which tells full seconds, is ahead of our monotonic one; empty until it is known. */
    private volatile OptionalLong aheadMillis = OptionalLong.empty();
    /** To look for credentials, and to sign, may take long: requests begin here, in no order. */
    private final ScheduledThreadPoolExecutor threads;

    private volatile boolean understood;

    /**
     * Asks by a client of the SDK.
     *
     * @param unanswered runs when a request has had no answer in its time; it must not block
     */
    TableClient(DynamoDbSettings settings, DynamoDbAsyncClient sdk, Runnable unanswered) {
        this.settings = settings;
        this.sdk = sdk;
        this.unanswered = unanswered;
        threads = new ScheduledThreadPoolExecutor(THREADS, task -> {
            var made = new Thread(task, "bellwether-dynamodb");
            made.setDaemon(true);
            return made;
        });
        threads.setRemoveOnCancelPolicy(true); // while credentials are waited for, much is given up
    }

    /** Returns what changes when a request had no answer, or the table was not there. */
    String session() {
        return Long.toString(breaks.get());
    }

    boolean isCrowded() {
        return limiter.isCrowded();
    }

    /** Does this again and again, whatever becomes of it, never twice at a time. */
    void every(Duration interval, Runnable task) {
        Runnable guarded = () -> {
            try {
                task.run();
            } catch (Throwable e) { // which would end it
                log.error(
                        "{}: what is done every {} has failed; it is done again",
                        settings,
                        Durations.show(interval),
                        e);
            }
        };
        var unused =
                threads.scheduleWithFixedDelay(guarded, interval.toNanos(), interval.toNanos(), TimeUnit.NANOSECONDS);
    }

    /**
     * Sends a request when it is its turn.
     *
     * @param action as rights name it, such as {@code GetItem}
     */
    <T> CompletableFuture<T> send(
            Urgency urgency,
            String action,
            Duration timeout,
            Function<DynamoDbAsyncClient, CompletableFuture<T>> request) {
        return limiter.pass(
                urgency,
                System.nanoTime() + timeout.toNanos(),
                () -> begun(request)
                        .orTimeout(timeout.toNanos(), TimeUnit.NANOSECONDS)
                        .handle((answer, error) -> {
                            if (answer == null) {
                                throw failure(action, timeout, error);
                            }
                            understood = true;
                            noteClock(answer);
                            return answer;
                        }),
                () -> new UnavailableException(settings + " was not asked within " + Durations.show(timeout)
                        + ", because too many others" + " came first"));
    }

    /** What is given up before it begins is not sent; after that, its connection is of no use any more. */
    private <T> CompletableFuture<T> begun(Function<DynamoDbAsyncClient, CompletableFuture<T>> request) {
        var answer = new CompletableFuture<T>();
        var begin = threads.submit(() -> {
            if (answer.isDone()) {
                return;
            }
            try {
                var sent = request.apply(sdk);
                var unused = sent.whenComplete((done, error) -> {
                    if (error == null) {
                        answer.complete(done);
                    } else {
                        answer.completeExceptionally(error);
                    }
                });
                var unusedToo = answer.whenComplete((done, error) -> sent.cancel(true));
            } catch (Throwable e) { // of classes that do not fit together, too: it would look like silence
                answer.completeExceptionally(e);
            }
        });
        var unused = answer.whenComplete((done, error) -> begin.cancel(false));
        return answer;
    }

    /** Waits for an answer; fails as it does. Blocks. */
    static <T> T answer(CompletionStage<T> asked) {
        try {
            return asked.toCompletableFuture().join();
        } catch (CompletionException e) {
            throw e.getCause() instanceof RuntimeException plain ? plain : e;
        }
    }

    // ---------------------------------------------------------------- what went wrong

    private RuntimeException failure(String action, Duration timeout, Throwable error) {
        var cause = Causes.unwrapped(error);
        if (cause instanceof ConditionalCheckFailedException refused) {
            understood = true;
            return refused; // which is an answer
        }
        if (cause instanceof AwsServiceException service && service.awsErrorDetails() != null) {
            if (isBreak(service)) {
                breaks.incrementAndGet();
            }
            return said(action, service);
        }
        breaks.incrementAndGet();
        if (cause instanceof TimeoutException) {
            unanswered.run();
            return new UnavailableException(
                    settings + " did not answer " + action + " within " + Durations.show(timeout), cause);
        }
        if (cause instanceof LinkageError && !understood) {
            return new ElectionException(
                    settings
                            + ": the AWS SDK cannot run with the jars on the class path: see that all of the SDK's have"
                            + " one version, and Netty's one that it works with (" + cause + ")",
                    cause);
        }
        if (cause instanceof Error) {
            return new UnavailableException(settings + ": the AWS SDK has failed at " + action + ": " + cause, cause);
        }
        var root = Causes.root(cause);
        var why = root.getMessage() == null
                ? "the connection was broken"
                : (root instanceof UnknownHostException ? "unknown host " : "")
                        + settings.uri().redact(root.getMessage());
        if (why.contains("credentials")) {
            return new AccessRefusedException(
                    settings + ": the AWS SDK finds no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or"
                            + " AWS_PROFILE, or give the machine a role (it said: " + why + ")",
                    cause);
        }
        // a server that breaks off while TLS begins is only away
        if (root instanceof GeneralSecurityException && !understood) {
            return new ElectionException(
                    settings + ": we do not agree on TLS: check endpoint, whether it is http or https, and the"
                            + " truststore of the JDK (it said: " + why + ")",
                    cause);
        }
        var hint = understood || settings.endpoint().isEmpty() ? "" : " (does it speak TLS, or not?)";
        return new UnavailableException(settings + " cannot be reached for " + action + ": " + why + hint, cause);
    }

    /**
     * A refusal, such as of one request too many, is an answer: what was written is there. A leader that took it for
     * silence would read before each renewal, also while the units to read are used up.
     */
    private static boolean isBreak(AwsServiceException said) {
        return said instanceof ResourceNotFoundException
                || (said.statusCode() >= FAILED && !said.isThrottlingException());
    }

    private ElectionException said(String action, AwsServiceException error) {
        var code = String.valueOf(error.awsErrorDetails().errorCode());
        var message = settings + " refused " + action + ": " + code + ": "
                + settings.uri().redact(String.valueOf(error.awsErrorDetails().errorMessage()));
        if (code.matches(REFUSALS)) {
            var remedy = code.startsWith("AccessDenied")
                    ? ". It needs the right dynamodb:" + action + " on the table " + settings.table()
                    : ". Check the credentials, and the clock of this machine";
            return new AccessRefusedException(message + remedy, error);
        }
        if (error instanceof ResourceNotFoundException) {
            var missing = settings + ": there is no table \"" + settings.table() + "\" in " + settings.region();
            return understood
                    ? new UnavailableException(missing + " any more. Nobody can be elected until it is there", error)
                    : new ElectionException(
                            missing + ". Add create=true to the URI, or make it: " + settings.command(), error);
        }
        if (message.contains("Item size")) {
            return new ElectionException(message + ". Give the candidate less metadata", error);
        }
        return understood || error.isThrottlingException() || error.statusCode() >= FAILED || code.matches(BUSY)
                ? new UnavailableException(message, error)
                : new ElectionException(message + ". Check region, table and endpoint", error);
    }

    // ---------------------------------------------------------------- what time it is there

    private void noteClock(Object answer) {
        try {
            if (answer instanceof SdkResponse response && response.sdkHttpResponse() != null) {
                var date =
                        response.sdkHttpResponse().firstMatchingHeader("Date").orElse("");
                var there = ZonedDateTime.parse(date, DateTimeFormatter.RFC_1123_DATE_TIME)
                        .toInstant();
                aheadMillis = OptionalLong.of(there.toEpochMilli() - System.nanoTime() / 1_000_000);
            }
        } catch (DateTimeException e) {
            return; // there is the clock of this machine
        }
    }

    /** Returns what DynamoDB's clock shows now, about. */
    Instant now() {
        var ahead = aheadMillis;
        return ahead.isEmpty()
                ? Instant.now()
                : Instant.ofEpochMilli(ahead.getAsLong() + System.nanoTime() / 1_000_000);
    }

    @Override
    public void close() {
        threads.shutdownNow();
    }
}
