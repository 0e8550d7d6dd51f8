package dev.bellwether.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.CreateMode;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which nodes are taken for those of a creation whose answer was lost. */
class OrphansTest {
    private final String election = "orphans-" + UUID.randomUUID();
    private final String path = Hands.ROOT + '/' + election;
    private final NodeData data = new NodeData("twin", 0, Map.of());
    private final ModelTime time = new ModelTime(0);
    private final TreeModel tree = new TreeModel(time, new SplittableRandom(1), 100_000_000, TreeModel.Planted.NOTHING);
    private final Hands hands = new Hands(SharedServer.get());
    private final CuratorFramework client = Hands.client(SharedServer.get().addresses(), 10_000);

    @AfterEach
    void close() {
        client.close();
        hands.close();
    }

    @Test
    void onlyANodeOfOurSessionWithOurDataThatNobodyHereKnowsIsTaken() throws Exception {
        hands.join(election, "twin"); // another session's
        hands.make(election, "twin");
        create("somebody else");
        var known = create("twin");
        try (var session = SeatSession.borrowed(client, LentSessionTest.config().tickTime(), "the test's server")) {
            var owner = session.client().sessionId();
            OwnNode.take(owner, known);
            assertThat(found(session, owner)).isEmpty();
            var lost = create("twin");
            assertThat(found(session, owner)).contains(lost);
            assertThat(found(session, owner)).as("the same once more").isEmpty();
            OwnNode.forget(owner, known);
            OwnNode.forget(owner, lost);
        }
    }

    /** As for lack of memory: it was tried on the next connection, and nobody led before that. */
    @ParameterizedTest
    @ValueSource(classes = {NoClassDefFoundError.class, IllegalStateException.class})
    void whatCouldNotBeTakenAwayAtFirstIsTakenAwaySoon(Class<? extends Throwable> failure) throws Exception {
        var session = leftBehind();
        session.failOnce(failure.getConstructor().newInstance());
        Orphans.cleanUp(new ElectionNodes(session, path), data, null);
        time.run(5_000_000_000L, () -> {});
        assertThat(tree.queue(path)).isEmpty();
    }

    /** It was tried once on each connection, and not each second. */
    @Test
    void whatCouldNotBePutOffIsTriedEachSecondFromTheNextConnectionOn() {
        var session = leftBehind();
        session.failOnce(new IllegalStateException("planted"));
        session.refuseSoonOnce();
        Orphans.cleanUp(new ElectionNodes(session, path), data, null);
        time.run(5_000_000_000L, () -> {});
        session.disconnect();
        session.failOnce(new IllegalStateException("planted"));
        session.reconnect(false);
        time.run(10_000_000_000L, () -> {});
        assertThat(tree.queue(path)).isEmpty();
    }

    /** Leaves a node behind, in a session that lives. */
    private TreeModel.Client leftBehind() {
        var session = tree.new Client("client", Duration.ofSeconds(60));
        session.calm();
        var nodes = new ElectionNodes(session, path);
        var above = nodes.make();
        time.run(1_000_000_000, () -> {});
        var node = session.create(CreateMode.EPHEMERAL_SEQUENTIAL, nodes.candidate(Paths.CANDIDATE), data.text());
        time.run(2_000_000_000, () -> {});
        assertThat(above).isCompleted();
        assertThat(node).isCompleted();
        return session;
    }

    private Optional<String> found(SeatSession session, long owner) throws Exception {
        return OwnNode.takeOne(
                owner,
                Orphans.find(new ElectionNodes(session, path), owner, data).get(60, TimeUnit.SECONDS));
    }

    private String create(String id) throws Exception {
        return client.create()
                .withMode(CreateMode.EPHEMERAL_SEQUENTIAL)
                .forPath(path + "/le_", id.getBytes(StandardCharsets.UTF_8));
    }
}
