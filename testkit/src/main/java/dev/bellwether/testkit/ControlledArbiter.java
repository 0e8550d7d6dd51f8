package dev.bellwether.testkit;

import dev.bellwether.Candidate;
import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.Watch;
import dev.bellwether.spi.Arbiter;
import dev.bellwether.spi.Claimant;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.Seat;
import dev.bellwether.spi.Standing;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Gives seats as the test says. Confined to the loop. */
final class ControlledArbiter implements Arbiter {
    private final ControlledLoop loop;
    private final Map<String, Room> rooms = new TreeMap<>();

    ControlledArbiter(ControlledLoop loop) {
        this.loop = loop;
    }

    @Override
    public String describe() {
        return "a test";
    }

    Room room(String election) {
        return rooms.computeIfAbsent(election, Room::new);
    }

    @Override
    public Seat seat(Standing standing, Claimant claimant, Loop loop) {
        return new ControlledSeat(standing, claimant);
    }

    @Override
    public CompletionStage<View> read(String election, Loop loop) {
        return onLoop(() -> room(election).view());
    }

    @Override
    public Watch watch(String election, Consumer<View> watcher, Loop loop) {
        loop.execute(() -> {
            room(election).watchers.add(watcher);
            watcher.accept(room(election).view());
        });
        return () -> loop.execute(() -> room(election).watchers.remove(watcher));
    }

    @Override
    public CompletionStage<Boolean> order(String election, Order order) {
        return onLoop(() -> room(election).order(order));
    }

    @Override
    public CompletionStage<List<String>> list() {
        return onLoop(() -> rooms.values().stream()
                .filter(room -> room.listed)
                .map(room -> room.election)
                .toList());
    }

    @Override
    public void close() {}

    private <T> CompletionStage<T> onLoop(Supplier<T> question) {
        var answer = new CompletableFuture<T>();
        loop.execute(() -> answer.complete(question.get()));
        return answer;
    }

    /** One election. */
    final class Room {
        private final String election;
        private final List<ControlledSeat> seats = new ArrayList<>();
        private final List<Consumer<View>> watchers = new CopyOnWriteArrayList<>();
        private @Nullable ControlledSeat holder;
        private Optional<String> elsewhere = Optional.empty();
        private Instant since = Instant.EPOCH;
        private long token;
        private long era;
        private boolean silent;
        private boolean ended;
        private boolean listed;

        private Room(String election) {
            this.election = election;
        }

        ControlledSeat only() {
            if (seats.size() != 1) {
                throw new IllegalStateException(seats.isEmpty() ? "nobody stands for \"" + election + '"' : several());
            }
            return seats.get(0);
        }

        private String several() {
            return "several stand for \"" + election + "\": name one of "
                    + seats.stream().map(seat -> seat.standing.candidate()).toList();
        }

        ControlledSeat named(String candidate) {
            return seats.stream()
                    .filter(seat -> seat.standing.candidate().equals(candidate))
                    .findFirst()
                    .orElseThrow(() ->
                            new IllegalStateException("\"" + candidate + "\" does not stand for \"" + election + '"'));
        }

        ControlledSeat leader() {
            if (holder == null) {
                throw new IllegalStateException("nobody here leads \"" + election + '"');
            }
            return holder;
        }

        void elsewhere(String candidate) {
            if (holder != null) {
                throw new IllegalStateException(holder.standing.candidate() + " leads: revoke or fence it first");
            }
            token++;
            listed = true;
            elsewhere = Optional.of(candidate);
            changed();
        }

        void vacate() {
            elsewhere = Optional.empty();
            changed();
        }

        void silent(boolean silent) {
            this.silent = silent;
            if (!silent && holder != null) {
                holder.prove(); // as the next retry would
            }
        }

        void end() {
            order(Order.END);
        }

        private boolean order(Order order) {
            var ordered = holder;
            if (order == Order.STAND_DOWN) {
                if (ordered != null) {
                    ordered.revoke(Cause.REVOKED_BY_OPERATOR);
                }
                return ordered != null;
            }
            if (order == Order.REOPEN) {
                var reopened = ended;
                ended = false;
                era += reopened ? 1 : 0;
                return reopened; // nobody stands where an election has ended
            }
            ended = order == Order.END;
            listed = order == Order.END;
            era += order == Order.DELETE ? 1 : 0;
            if (ordered != null) {
                ordered.revoke(Cause.ENDED);
            }
            List.copyOf(seats).stream().filter(seat -> seat != ordered).forEach(seat -> seat.claimant.ended());
            return true;
        }

        private void changed() {
            since = Instant.ofEpochMilli(loop.clock().wallMillis());
            var leader = leaderName();
            seats.stream().filter(seat -> seat != holder).forEach(seat -> seat.claimant.following(leader));
            var view = view();
            watchers.forEach(watcher -> watcher.accept(view));
        }

        private Optional<String> leaderName() {
            return holder == null ? elsewhere : Optional.of(holder.standing.candidate());
        }

        private View view() {
            var held = holder;
            var shown = held == null
                    ? elsewhere.map(one -> new View.Holder(one, one, since, Map.of()))
                    : Optional.of(new View.Holder(
                            held.standing.candidate(),
                            held.standing.instance(),
                            since,
                            held.standing.config().metadata()));
            return View.of(election, token)
                    .heldBy(shown, Duration.ZERO)
                    .inEra(era, ended)
                    .among(
                            Integer.MIN_VALUE,
                            seats.stream()
                                    .filter(seat -> seat.wanted || seat == holder)
                                    .map(seat -> new Candidate(
                                            seat.standing.candidate(),
                                            seat.standing.config().priority(),
                                            seat.standing.config().metadata(),
                                            seat == holder))
                                    .toList());
        }
    }

    /** One candidate's. */
    final class ControlledSeat implements Seat {
        private final Standing standing;
        private final Claimant claimant;
        private final Room room;
        private boolean wanted;
        private boolean proving;
        private long token;

        private ControlledSeat(Standing standing, Claimant claimant) {
            this.standing = standing;
            this.claimant = claimant;
            room = room(standing.election());
        }

        /** For the thread of the test: the candidate leads when it returns. */
        long acquire() {
            var granted = loop.call(this::grant);
            loop.run(() -> {
                if (room.holder != this) {
                    throw new IllegalStateException(refusal());
                }
            });
            return granted;
        }

        private long grant() {
            room.leaderName().ifPresent(leader -> {
                throw new IllegalStateException(
                        leader + " leads \"" + room.election + "\": let it lead no more, and try again");
            });
            if (!wanted) {
                throw new IllegalStateException(refusal());
            }
            room.holder = this;
            token = ++room.token;
            proving = true;
            claimant.granted(
                    token, new Proof(loop.clock().now(), standing.config().lease()));
            proveAgain(token);
            room.changed();
            return token;
        }

        private String refusal() {
            return "\"" + standing.candidate()
                    + "\" does not want the seat now: its work has not ended, or it holds back";
        }

        void revoke(Cause cause) {
            claimant.asked(token, cause, standing.config().standDownBudget());
        }

        void fence(Cause cause) {
            claimant.lost(token, cause);
            vacate();
        }

        void fail(ElectionException error) {
            claimant.failed(error);
        }

        private void prove() {
            if (proving && !room.silent) {
                claimant.proven(
                        token, new Proof(loop.clock().now(), standing.config().lease()));
            }
        }

        private void proveAgain(long proven) {
            loop.at(loop.clock().nanos() + standing.config().renewInterval().toNanos(), () -> {
                if (proving && token == proven) {
                    prove();
                    proveAgain(proven);
                }
            });
        }

        @Override
        public void claim() {
            wanted = true;
            if (!room.seats.contains(this)) {
                room.seats.add(this);
            }
            room.listed = true;
            if (room.ended) {
                claimant.ended();
            } else {
                claimant.following(room.leaderName());
            }
        }

        @Override
        public void concede(Duration within) {
            proving = false;
        }

        @Override
        public void release() {
            wanted = false;
            vacate();
        }

        @Override
        public void leave() {
            wanted = false;
            room.seats.remove(this);
            vacate();
            claimant.left();
        }

        private void vacate() {
            proving = false;
            if (room.holder == this) {
                room.holder = null;
                room.changed();
            }
        }
    }
}
