package dev.bellwether.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Whatever a node of ZooKeeper holds, and is called. */
class NodeFuzzTest {
    @FuzzTest(maxDuration = "5s")
    void anyNodeCanBeReadAndAnyElectionBeNamed(byte[] bytes) {
        var text = new String(bytes, StandardCharsets.UTF_8);
        var data = NodeData.of(text);
        assertThat(NodeData.of(data.text())).isEqualTo(data);

        var names = Arrays.asList(text.split("\n", -1));
        assertThat(Paths.queue(names).size() + Paths.foreign(names).size()).isLessThanOrEqualTo(names.size());
        for (var name : names) {
            assertThat(Paths.decode(name)).isNotNull();
            assertThat(Paths.decode(Paths.encode(name))).isEqualTo(name);
            assertThat(Paths.encode(name)).doesNotContain("/");
        }
    }
}
