package dev.bellwether.zookeeper;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.spi.Moment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Predicate;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.proto.CheckVersionRequest;
import org.apache.zookeeper.proto.DeleteRequest;
import org.apache.zookeeper.proto.SetDataRequest;
import org.jspecify.annotations.Nullable;

/**
 * The nodes of a lone server with its sessions, and clients of it, in simulated time. A session is ended when its
 * timeout has passed since the server last heard of it, rounded up to a tick. Connections keep the order, delay as they
 * like, and break with what is under way: requests may still be carried out, their answers are lost. Watches tell once.
 *
 * <p>Confined to one thread.
 */
final class TreeModel {
    /** Also across models: what is taken is known by the session's id to the whole process. */
    private static final AtomicLong SESSIONS = new AtomicLong(1_000_000);

    private static final long MILLI = 1_000_000;
    /** Of which each connection has one, each way: milliseconds at most. */
    private static final List<Integer> DELAYS = List.of(1, 5, 5, 20, 100, 400);

    /** What is planted, to see that it is found. */
    enum Planted {
        NOTHING,
        /** The server ends sessions too early. */
        SESSIONS_ARE_CUT_SHORT,
        /** The server carries out what a session sent over the connection before. */
        FORMER_CONNECTIONS_COUNT,
        /** Whatever has changed, nobody is told. */
        WATCHES_ARE_SILENT,
        /** A creation without an answer is sent again. */
        CREATIONS_ARE_REPEATED,
        /** A listing leaves the first of the queue out. */
        LISTINGS_BEGIN_WITH_THE_SECOND
    }

    private final ModelTime time;
    private final SplittableRandom random;
    private final Planted planted;
    private final long tick;
    private final TreeMap<String, ZNode> nodes = new TreeMap<>();
    private final Map<Long, Long> expiries = new HashMap<>();
    private long zxid = 1;
    private boolean deletionsRefused;
    private boolean writesRefused;
    private Predicate<String> unreadable = path -> false;
    private boolean existenceIsNoSecret;
    private String ensemble = "";

    private record ZNode(String text, long czxid, int version, long owner, int sequence) {
        private Stat stat() {
            var stat = new Stat();
            stat.setCzxid(czxid);
            stat.setVersion(version);
            stat.setEphemeralOwner(owner);
            stat.setDataLength(text.length());
            return stat;
        }
    }

    private record Registration(Client client, long session, String path, boolean ofChildren, Watcher watcher) {}

    private final Set<Registration> registrations = new LinkedHashSet<>();

    TreeModel(ModelTime time, SplittableRandom random, long tick, Planted planted) {
        this.time = time;
        this.random = random;
        this.tick = tick;
        this.planted = planted;
    }

    /** Returns the names of candidates' nodes that are there, in order. */
    List<String> queue(String election) {
        return Paths.queue(childrenOf(election));
    }

    /** Returns whether there is such a node. */
    boolean has(String path) {
        return nodes.containsKey(path);
    }

    /** Returns whether this candidate has a node in the queue. */
    boolean hasNodeOf(String candidate, String election) {
        return nodes.entrySet().stream()
                .filter(node -> node.getKey().startsWith(election + "/le_"))
                .anyMatch(
                        node -> NodeData.of(node.getValue().text()).candidate().equals(candidate));
    }

    /** Deletes a node, as a person might. */
    void deleteByHand(String path) {
        if (nodes.containsKey(path)) {
            remove(path);
        }
    }

    /** Takes from all clients the right to delete candidates' nodes, or gives it back. */
    void refuseDeletions(boolean refused) {
        deletionsRefused = refused;
    }

    /** Takes from all clients the right to write to nodes that are there, or gives it back. */
    void refuseWrites(boolean refused) {
        writesRefused = refused;
    }

    /** Takes from all clients the right to read these nodes, and gives it back for all others. */
    void refuseReads(Predicate<String> of) {
        unreadable = of;
    }

    /** As older servers do, it tells whether a node is there also to those who may not read it. */
    void tellWhatExists() {
        existenceIsNoSecret = true;
    }

    /** The next sequential child of this node has this number. */
    void numberNext(String path, int number) {
        nodes.computeIfPresent(
                path, (same, node) -> new ZNode(node.text(), node.czxid(), node.version(), node.owner(), number));
    }

    /** The servers say this of their ensemble from now on. */
    void reconfigure(String configuration) {
        ensemble = configuration;
    }

    // ---------------------------------------------------------------- the server

    private List<String> childrenOf(String path) {
        var prefix = path + '/';
        return nodes.keySet().stream()
                .filter(node -> node.startsWith(prefix) && node.indexOf('/', prefix.length()) < 0)
                .map(node -> node.substring(prefix.length()))
                .toList();
    }

    private void hear(long session, Duration timeout) {
        var kept = planted == Planted.SESSIONS_ARE_CUT_SHORT ? timeout.toNanos() / 3 : timeout.toNanos();
        var at = ((time.now() + kept) / tick + 1) * tick;
        expiries.put(session, at);
        time.schedule(at, () -> {
            if (expiries.containsKey(session) && expiries.get(session) == at) {
                end(session);
            }
        });
    }

    private void end(long session) {
        expiries.remove(session);
        registrations.removeIf(one -> one.session() == session);
        var gone = nodes.entrySet().stream()
                .filter(node -> node.getValue().owner() == session)
                .map(Map.Entry::getKey)
                .toList();
        gone.forEach(this::remove);
    }

    private ZNode node(String path) throws KeeperException {
        var node = nodes.get(path);
        if (node == null) {
            throw KeeperException.create(Code.NONODE, path);
        }
        return node;
    }

    private ZNode readable(String path) throws KeeperException {
        var node = node(path);
        if (unreadable.test(path)) {
            throw KeeperException.create(Code.NOAUTH, path);
        }
        return node;
    }

    private String make(CreateMode mode, String path, String text, long session) throws KeeperException {
        var parent = path.substring(0, path.lastIndexOf('/'));
        var sequence = parent.isEmpty() ? 0 : node(parent).sequence();
        var made = mode.isSequential() ? path + "%010d".formatted(sequence) : path;
        if (nodes.containsKey(made)) {
            throw KeeperException.create(Code.NODEEXISTS, made);
        }
        if (!parent.isEmpty()) {
            var above = node(parent);
            nodes.put(parent, new ZNode(above.text(), above.czxid(), above.version(), above.owner(), sequence + 1));
        }
        nodes.put(made, new ZNode(text, ++zxid, 0, mode.isEphemeral() ? session : 0, 0));
        tell(made, EventType.NodeCreated);
        return made;
    }

    private void remove(String path) {
        zxid++;
        nodes.remove(path);
        tell(path, EventType.NodeDeleted);
    }

    private void delete(String path, int version) throws KeeperException {
        if (deletionsRefused
                && !Paths.queue(List.of(path.substring(path.lastIndexOf('/') + 1)))
                        .isEmpty()) {
            throw KeeperException.create(Code.NOAUTH, path);
        }
        var node = node(path);
        if (version >= 0 && node.version() != version) {
            throw KeeperException.create(Code.BADVERSION, path);
        }
        if (!childrenOf(path).isEmpty()) {
            throw KeeperException.create(Code.NOTEMPTY, path);
        }
        remove(path);
    }

    private void write(String path, byte[] data, int version) throws KeeperException {
        var node = node(path);
        if (writesRefused) {
            throw KeeperException.create(Code.NOAUTH, path);
        }
        if (version >= 0 && node.version() != version) {
            throw KeeperException.create(Code.BADVERSION, path);
        }
        zxid++;
        var text = new String(data, StandardCharsets.UTF_8);
        nodes.put(path, new ZNode(text, node.czxid(), node.version() + 1, node.owner(), node.sequence()));
        tell(path, EventType.NodeDataChanged);
    }

    private void carryOut(Op op) throws KeeperException {
        switch (op.getType()) {
            case OpCode.check -> readable(((CheckVersionRequest) op.toRequestRecord()).getPath());
            case OpCode.delete -> {
                var request = (DeleteRequest) op.toRequestRecord();
                delete(request.getPath(), request.getVersion());
            }
            case OpCode.setData -> {
                var request = (SetDataRequest) op.toRequestRecord();
                write(request.getPath(), request.getData(), request.getVersion());
            }
            default -> throw new IllegalArgumentException("not modelled: " + op.getKind());
        }
    }

    /** Tells whoever watches the node, or the children of the one above it. */
    private void tell(String path, EventType type) {
        var parent = path.substring(0, path.lastIndexOf('/'));
        var isChange = type == EventType.NodeDataChanged;
        var told = registrations.stream()
                .filter(one -> one.path().equals(path)
                        || (one.ofChildren() && !isChange && one.path().equals(parent)))
                .toList();
        told.forEach(registrations::remove);
        if (planted != Planted.WATCHES_ARE_SILENT) {
            told.forEach(one -> one.client().event(one, type));
        }
    }

    // ---------------------------------------------------------------- clients

    /** What a server does for a request. */
    private interface Work<T> {
        T carryOut() throws Exception;
    }

    /** A client with its session, or with one after another. */
    final class Client implements NodeSession, NodeRequests {
        private final String name;
        private final Duration timeout;
        private final PathWatches watches = new PathWatches(this);
        private final SessionProver prover;
        private final Set<Runnable> onConnect = new LinkedHashSet<>();
        private final Map<Long, CompletableFuture<?>> outstanding = new TreeMap<>();
        private long requests;
        private final List<Runnable> events = new ArrayList<>();
        private Runnable beforeNextEvent = () -> {};
        private ModelTime.Link up;
        private ModelTime.Link down;
        private long id;
        private long generation;
        private long breaks;
        private boolean connected;
        private boolean calm;
        private boolean isDeaf;
        private boolean soonRefused;
        private @Nullable Throwable failure;
        private boolean knowsTimeout = true;
        /** The end of a session is being told. */
        private boolean ending;
        /** Which connection the server accepts requests from. */
        private long accepted;

        Client(String name, Duration timeout) {
            this.name = name;
            this.timeout = timeout;
            up = link();
            down = link();
            var opened = new Moment(time.now(), 0);
            begin();
            connected = true;
            prover = new SessionProver(this, new ProofTiming(Duration.ofNanos(tick)), opened);
        }

        private ModelTime.Link link() {
            return time.new Link(random, (calm ? 5 : DELAYS.get(random.nextInt(DELAYS.size()))) * MILLI);
        }

        private void begin() {
            id = SESSIONS.incrementAndGet();
            hear(id, timeout);
        }

        SessionProver prover() {
            return prover;
        }

        boolean isConnected() {
            return connected;
        }

        /** Finds a server again, and from now on a near one. */
        void calm() {
            calm = true;
            reconnect(false);
            up.quicken(5 * MILLI);
            down.quicken(5 * MILLI);
        }

        /** Whether it knows what was negotiated: not before its first connection. */
        void knowsTimeout(boolean knows) {
            knowsTimeout = knows;
        }

        /** Does this right before the next watch tells. */
        void beforeNextEvent(Runnable action) {
            beforeNextEvent = action;
        }

        /** Loses the connection. What is under way may arrive at the server, until there is another. */
        void disconnect() {
            if (!connected) {
                return;
            }
            connected = false;
            breaks++;
            up = link();
            down = link();
            if (random.nextBoolean()) {
                accepted = -1;
            }
            var lost = List.copyOf(outstanding.values());
            outstanding.clear();
            lost.forEach(answer -> answer.completeExceptionally(KeeperException.create(Code.CONNECTIONLOSS)));
        }

        /** Finds a server again: with the same session, or if that is gone, or is given up, with a new one. */
        void reconnect(boolean givesUp) {
            if (connected || ending) {
                return;
            }
            if (givesUp || !expiries.containsKey(id)) {
                expired();
            } else {
                connected();
            }
        }

        private void expired() {
            OwnNode.forget(id);
            generation++;
            breaks++;
            events.clear();
            ending = true;
            Runnable goOn = () -> {
                ending = false;
                begin();
                connected();
            };
            // the client's thread waits until the seats have been told, and what they have reported is heard
            if (!prover.onLoop(() -> {
                prover.each(SessionSeat::expired);
                prover.onLoop(goOn);
            })) {
                goOn.run();
            }
        }

        private void connected() {
            connected = true;
            accepted = breaks;
            hear(id, timeout);
            var missed = List.copyOf(events);
            events.clear();
            missed.forEach(down::send);
            prover.onLoop(prover::connected);
            List.copyOf(onConnect).forEach(Runnable::run);
        }

        private void event(Registration of, EventType type) {
            Runnable arrival = () -> {
                if (of.session() == id) {
                    process(of.watcher(), new WatchedEvent(type, KeeperState.SyncConnected, of.path()));
                }
            };
            if (connected) {
                down.send(arrival); // or, if the connection breaks, when the client sets its watches again
            } else {
                events.add(arrival);
            }
        }

        private void process(Watcher watcher, WatchedEvent event) {
            var before = beforeNextEvent;
            beforeNextEvent = () -> {};
            before.run();
            try {
                watcher.process(event);
            } catch (OutOfMemoryError e) {
                return; // the real client's thread logs it, and goes on
            }
        }

        private <T> CompletableFuture<T> send(Work<T> work) {
            return send(work, failure -> failure);
        }

        /** The next request fails so, and nothing is wrong with the connection. */
        void failOnce(Throwable error) {
            failure = error;
        }

        /** Hears no answer any more, as one whose event thread has ended. */
        void deafen() {
            isDeaf = true;
        }

        private <T> CompletableFuture<T> send(Work<T> work, Function<KeeperException, Exception> wrap) {
            var answer = new CompletableFuture<T>();
            if (isDeaf) {
                return answer;
            }
            var error = failure;
            if (error != null) {
                failure = null;
                if (error instanceof Error thrown) { // as the client does
                    throw thrown;
                }
                answer.completeExceptionally(error);
                return answer;
            }
            if (!connected) {
                time.after(
                        random.nextLong(300 * MILLI),
                        () -> answer.completeExceptionally(KeeperException.create(Code.CONNECTIONLOSS)));
                return answer;
            }
            var request = requests++;
            outstanding.put(request, answer);
            var connection = breaks;
            var session = id;
            up.send(() -> {
                if (connection != accepted) { // the session has moved on
                    if (planted == Planted.FORMER_CONNECTIONS_COUNT && expiries.containsKey(session)) {
                        time.after(random.nextLong(1_000 * MILLI), () -> carryOutUnheard(work));
                    }
                    return;
                }
                if (!expiries.containsKey(session)) {
                    down.send(() -> {
                        if (session == id) {
                            disconnect();
                            reconnect(false);
                        }
                    });
                    return;
                }
                hear(session, timeout);
                Runnable arrival;
                try {
                    var value = work.carryOut();
                    arrival = () -> answer.complete(value);
                } catch (KeeperException e) {
                    arrival = () -> answer.completeExceptionally(wrap.apply(e));
                } catch (Exception e) {
                    arrival = () -> answer.completeExceptionally(e);
                }
                var told = arrival;
                down.send(() -> {
                    if (outstanding.remove(request) != null) {
                        told.run();
                    }
                });
            });
            return answer;
        }

        private void carryOutUnheard(Work<?> work) {
            try {
                work.carryOut();
            } catch (Exception e) {
                return; // nobody hears of that either
            }
        }

        private void register(@Nullable Watcher watcher, String path, boolean ofChildren) {
            if (watcher != null) {
                registrations.add(new Registration(this, id, path, ofChildren, watcher));
            }
        }

        @Override
        public CompletableFuture<Optional<Stat>> exists(String path, @Nullable Watcher watcher) {
            return send(() -> {
                register(watcher, path, false);
                if (!nodes.containsKey(path)) {
                    return Optional.empty();
                }
                var node = existenceIsNoSecret ? node(path) : readable(path);
                return Optional.of(node.stat());
            });
        }

        @Override
        public CompletableFuture<Node> data(String path, @Nullable Watcher watcher) {
            return send(() -> {
                var node = readable(path);
                register(watcher, path, false);
                return new Node(node.text(), node.stat());
            });
        }

        @Override
        public CompletableFuture<List<Optional<Node>>> read(List<String> paths) {
            return send(() -> paths.stream()
                    .map(path -> Optional.ofNullable(nodes.get(path))
                            .filter(node -> !unreadable.test(path))
                            .map(node -> new Node(node.text(), node.stat())))
                    .toList());
        }

        @Override
        public CompletableFuture<Children> children(String path, @Nullable Watcher watcher) {
            return send(() -> {
                var node = readable(path);
                register(watcher, path, true);
                var names = new ArrayList<>(childrenOf(path));
                if (planted == Planted.LISTINGS_BEGIN_WITH_THE_SECOND
                        && Paths.queue(names).size() > 1) {
                    names.remove(Paths.queue(names).get(0));
                }
                names.sort(Comparator.comparingInt(String::hashCode)); // in no order
                return new Children(names, node.stat());
            });
        }

        @Override
        public CompletableFuture<String> ensemble() {
            return send(() -> {
                if (unreadable.test(ZooDefs.CONFIG_NODE)) {
                    throw KeeperException.create(Code.NOAUTH, ZooDefs.CONFIG_NODE);
                }
                return ensemble;
            });
        }

        @Override
        public CompletableFuture<Boolean> sync(String path) {
            return send(() -> true);
        }

        @Override
        public CompletableFuture<String> create(CreateMode mode, String path, String text) {
            var session = id;
            var creation = this.<String>send(() -> make(mode, path, text, session));
            return planted == Planted.CREATIONS_ARE_REPEATED
                    ? creation.exceptionallyCompose(error -> ZooKeeperErrors.code(error) == Code.CONNECTIONLOSS
                            ? create(mode, path, text)
                            : CompletableFuture.failedFuture(error))
                    : creation;
        }

        @Override
        public CompletableFuture<Boolean> delete(String path, int version) {
            return NodeRequests.ifMissing(
                    send(() -> {
                        TreeModel.this.delete(path, version);
                        return true;
                    }),
                    false);
        }

        @Override
        public CompletableFuture<List<OpResult>> all(List<Op> operations) {
            var at = new int[1];
            return send(
                    () -> {
                        var before = new TreeMap<>(nodes);
                        try {
                            for (var op : operations) {
                                carryOut(op);
                                at[0]++;
                            }
                        } catch (KeeperException e) {
                            nodes.clear();
                            nodes.putAll(before);
                            throw e;
                        }
                        return Arrays.asList(new OpResult[operations.size()]);
                    },
                    refused -> new RefusedTransaction(refused.code(), at[0], refused.getPath()));
        }

        @Override
        public void unwatch(String path) {
            registrations.removeIf(one -> one.client() == this && one.path().equals(path));
        }

        @Override
        public State state() {
            return new State(id, generation, breaks, knowsTimeout ? timeout : Duration.ZERO);
        }

        @Override
        public NodeRequests requests() {
            return this;
        }

        @Override
        public PathWatches watches() {
            return watches;
        }

        @Override
        public String where() {
            return "the model";
        }

        @Override
        public Optional<ElectionException> refusal(CandidacyConfig config) {
            return Optional.empty();
        }

        @Override
        public void onConnect(Runnable action) {
            onConnect.add(action);
        }

        @Override
        public void offConnect(Runnable action) {
            onConnect.remove(action);
        }

        /** Nothing can be put off once. */
        void refuseSoonOnce() {
            soonRefused = true;
        }

        @Override
        public void soon(Runnable action) {
            if (soonRefused) {
                soonRefused = false;
                throw new OutOfMemoryError("planted");
            }
            time.after(1_000 * MILLI, action);
        }

        @Override
        public void probe() {
            var unused = exists("/", null);
        }

        /** Returns how many requests have been sent. */
        long asked() {
            return requests;
        }

        @Override
        public String toString() {
            return name;
        }
    }
}
