package dev.bellwether.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.ConnectUri;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class PathsTest {
    @Test
    void namesComeBackFromTheirNodesAsTheyWere() {
        for (var name :
                List.of("billing", "a/b", ".", "..", "...", "100%", "zookeeper", "Ζυγός 選挙 🐑", "e\u0301", "a%2Fb")) {
            assertThat(Paths.encode(name)).doesNotContain("/").isNotIn(".", "..", "zookeeper");
            assertThat(Paths.decode(Paths.encode(name))).isEqualTo(name);
        }
        assertThat(Paths.encode("orders-eu_1.blue")).isEqualTo("orders-eu_1.blue");
    }

    @Test
    void theQueueIsInOrderOfNumbersAndHoldsNobodyElse() {
        assertThat(Paths.queue(
                        List.of("le_0000000010", "DONE", "le_0000000009", "stand_down", "le_12", "xle_0000000001")))
                .containsExactly("le_0000000009", "le_0000000010");
        assertThat(Paths.foreign(List.of("le_0000000010", "DONE", "stand_down", "le_12")))
                .containsExactly("le_12");
    }

    @Test
    void aNodeHoldsTheIdAloneUnlessThereIsMoreToSay() {
        assertThat(new NodeData("host:1", 0, Map.of()).text()).isEqualTo("host:1");
        var more = new NodeData("host:1", -7, Map.of("a=b", "one\ntwo", "%", "100%", "empty", ""));
        assertThat(NodeData.of(more.text())).isEqualTo(more);
        assertThat(NodeData.of("")).isEqualTo(new NodeData("", 0, Map.of()));
        assertThat(NodeData.of("x\npriority=many\nmetadata.a").candidate()).isEqualTo("x");
    }

    @Test
    void theUriSaysWhereAndHow() {
        var config = ZooKeeperProvider.config(ConnectUri.parse("zk://h:1,i:2/a/b?createElections=false&tickTime=PT2S"));
        assertThat(config.root()).isEqualTo("/a/b");
        assertThat(config.createElections()).isFalse();
        assertThat(config.tickTime()).isEqualTo(Duration.ofSeconds(2));
        assertThat(ZooKeeperProvider.config(ConnectUri.parse("zk://h:1")).root())
                .isEqualTo("/bellwether");
        assertThat(ZooKeeperProvider.config(ConnectUri.parse("zk://h:1/")).root())
                .isEmpty();
    }

    @Test
    void whatIsWrongInAUriIsNamed() {
        refused("zk:///a", "names no servers");
        refused("zk://h:1?chroot=x", "chroot");
        refused("zk://h:1?acl=world", "acl");
        refused("zk://h:1?tickTime=3", "tickTime");
        refused("zk://h:1?tickTime=PT2M", "tickTime");
        refused("zk://h:1?createElections=no", "createElections");
        refused("zk://h:1/a/", "root");
    }

    private static void refused(String uri, String part) {
        assertThatThrownBy(() -> new ZooKeeperProvider().connect(ConnectUri.parse(uri)))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining(part);
    }
}
