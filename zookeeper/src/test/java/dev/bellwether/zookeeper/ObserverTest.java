package dev.bellwether.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Leader;
import dev.bellwether.spi.View;
import dev.bellwether.zookeeper.TreeModel.Planted;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.apache.zookeeper.CreateMode;
import org.junit.jupiter.api.Test;

/** What one sees that only watches: on a {@link TreeModel}, in simulated time. */
class ObserverTest {
    private static final long MILLI = 1_000_000;
    private static final String PATH = "/bellwether/e";

    private final SplittableRandom random = new SplittableRandom(1);
    private final ModelTime time = new ModelTime(1_000 * MILLI);
    private final TreeModel tree = new TreeModel(time, random, 100 * MILLI, Planted.NOTHING);
    private final ModelTime.ProcessLoop loop = time.new ProcessLoop(random);
    private final TreeModel.Client other = client("other");
    private final TreeModel.Client client = client("client");
    private final List<String> seen = new ArrayList<>();
    private final Observer observer = new Observer("e", new ElectionNodes(client, PATH), this::see, loop, closed -> {});

    private TreeModel.Client client(String name) {
        var client = tree.new Client(name, Duration.ofHours(1));
        client.calm();
        return client;
    }

    private void see(View view) {
        seen.add(view.leader().map(Leader::candidate).orElse("nobody"));
    }

    private void pass(long millis) {
        time.run(time.now() + millis * MILLI, () -> {});
    }

    private String join() {
        var made = new ElectionNodes(other, PATH).make();
        pass(100);
        assertThat(made).isCompleted();
        var joined = other.create(CreateMode.EPHEMERAL_SEQUENTIAL, PATH + "/le_", "a");
        pass(100);
        return joined.join();
    }

    /** A watch tells once: it saw the former leader until its connection broke. */
    @Test
    void aChangeThatFoundNoMemoryIsSeenALittleLater() {
        var node = join();
        observer.begin();
        pass(100);
        assertThat(seen).containsExactly("a");
        client.beforeNextEvent(loop::runOutOfMemory);
        var left = other.delete(node, -1);
        pass(10_000);
        assertThat(left).isCompleted();
        assertThat(seen).containsExactly("a", "nobody");
    }

    @Test
    void anAnswerThatFoundNoMemoryIsAskedForAgain() {
        join();
        observer.begin();
        time.run(time.now() + 1, () -> {}); // it has asked
        loop.runOutOfMemory();
        assertThatThrownBy(() -> pass(100)).hasMessageContaining("lost on its way"); // which the loop logs
        pass(40_000);
        assertThat(seen).containsExactly("a");
    }

    @Test
    void oneThatIsClosedAsksNothingMore() {
        join();
        observer.begin();
        pass(100);
        observer.close();
        pass(100);
        var asked = client.asked();
        pass(60_000);
        assertThat(client.asked()).isEqualTo(asked);
    }
}
