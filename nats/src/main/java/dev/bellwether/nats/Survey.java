package dev.bellwether.nats;

import dev.bellwether.Candidate;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Looks at elections for display: who leads, who stands by, which there are. Thread-safe. */
final class Survey {
    private static final Logger log = LoggerFactory.getLogger(Survey.class);
    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final int MANY = 100;

    private final Wire wire;
    private final Seats seats;
    private final Roll roll;
    private final boolean choria;

    Survey(Wire wire, Seats seats, Roll roll, boolean choria) {
        this.wire = wire;
        this.seats = seats;
        this.roll = roll;
        this.choria = choria;
    }

    CompletionStage<View> read(String election) {
        return seats.read(election).thenCompose(observed -> {
            // in a crowd, who reads is a candidate of ours whose claim went unanswered, and waits for this
            if (choria || wire.isCrowded()) {
                return CompletableFuture.completedFuture(view(election, observed, List.of(), Optional.empty()));
            }
            return roll.list(election, observed)
                    .handle((listed, error) -> listed == null
                            ? view(election, observed, List.of(), Optional.empty())
                            : view(
                                    election,
                                    observed,
                                    listed.candidates(),
                                    listed.overview().now()));
        });
    }

    /** For display, a leader is gone whose lease should have run out by the clock of the server that wrote it down. */
    private View view(String election, ObservedRecord observed, List<Candidate> listed, Optional<Instant> serverNow) {
        var plain = roll.complete(seats.view(election, observed), listed);
        if (plain.holder().isEmpty()) {
            return plain;
        }
        var seat = observed.record();
        var written = observed.stored().written();
        var gone = serverNow
                .filter(time -> !written.equals(Instant.EPOCH))
                .filter(time -> written.plus(seat.lease()).isBefore(time))
                .isPresent();
        var all = new ArrayList<Candidate>();
        listed.forEach(one -> all.add(new Candidate(one.id(), one.priority(), one.metadata(), one.leads() && !gone)));
        if (!gone && listed.stream().noneMatch(Candidate::leads)) {
            all.add(new Candidate(seat.candidate(), seat.priority(), seat.metadata(), true));
        }
        return new View(
                plain.election(),
                plain.token(),
                gone ? Optional.empty() : plain.holder(),
                gone ? Duration.ZERO : plain.remaining(),
                plain.standDown() && !gone,
                plain.ended(),
                plain.era(),
                plain.topPriority(),
                List.copyOf(all));
    }

    CompletionStage<List<String>> list() {
        return elections().thenCompose(elections -> {
            if (seats.isWriteOnly()) {
                return CompletableFuture.completedFuture(elections);
            }
            var listed = elections.stream()
                    .map(election -> seats.read(election)
                            .handle((observed, error) ->
                                    isListed(observed, error) ? Optional.of(election) : Optional.<String>empty()))
                    .toList();
            return CompletableFuture.allOf(listed.toArray(CompletableFuture[]::new))
                    .thenApply(done -> listed.stream()
                            .map(CompletableFuture::join)
                            .flatMap(Optional::stream)
                            .toList());
        });
    }

    /** One record that cannot be read hides none of its neighbours. */
    private static boolean isListed(@Nullable ObservedRecord observed, @Nullable Throwable error) {
        if (observed == null && error != null && Errors.cause(error) instanceof UnavailableException unavailable) {
            throw unavailable;
        }
        return observed == null || observed.record().orders().listed();
    }

    /** Returns the leases of our leaders, of the first of many elections. Waits. */
    Map<String, Duration> leases() {
        var leases = new TreeMap<String, Duration>();
        try {
            for (var election : elections().join().stream().limit(MANY).toList()) {
                var seat = seats.read(election).join().record();
                if (seat.isHeld()) {
                    leases.put(election, seat.lease());
                }
            }
        } catch (CompletionException e) {
            if (!(e.getCause() instanceof UnavailableException)) {
                throw e;
            }
            log.debug("{} does not tell its leases: {}", wire, e.getMessage());
        }
        return leases;
    }

    private CompletableFuture<List<String>> elections() {
        return wire.overview(choria ? ">" : "*", PATIENCE)
                .thenApply(overview -> overview.keys().keySet().stream()
                        .flatMap(key -> (choria ? Optional.of(key) : Keys.election(key)).stream())
                        .sorted()
                        .toList());
    }
}
