package dev.bellwether.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.spi.ConnectUri;
import dev.bellwether.testkit.FaultProxy;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GivenEngineTest {
    private final List<FaultProxy> links = new ArrayList<>();

    @AfterEach
    void close() {
        links.forEach(FaultProxy::close);
    }

    @Test
    void oneHostIsReachedByALinkForEachCandidate() {
        var engine = on("jdbc:postgresql://ann:p%40ss@db.example:5999/app?ApplicationName=x");

        assertThat(engine.links(0)).hasSize(1);
        assertThat(engine.uri(0))
                .isEqualTo("jdbc:postgresql://ann:p%40ss@127.0.0.1:"
                        + engine.links(0).get(0).port() + "/app?ApplicationName=x");
        assertThat(engine.uri(1)).isNotEqualTo(engine.uri(0));
        assertThat(engine.describe() + engine.shownUri()).doesNotContain("p%40ss", "p@ss");
    }

    @Test
    void portThatIsNotNamedIsTheUsualOne() {
        var nats = on("nats://nats.example?bucket=b");
        assertThat(nats.uri(2))
                .isEqualTo("nats://127.0.0.1:" + nats.links(2).get(0).port() + "?bucket=b");
        assertThat(nats.links(2).get(0)).asString().contains("4222");
        assertThat(on("zk://zoo.example/elections").links(0).get(0)).asString().contains("2181");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "kafka://broker:9092",
                "nats://a:4222,b:4222",
                "jdbc:postgresql://db/app?sslmode=require",
                "jdbc:sqlite:/tmp/elections.db"
            })
    void whatALinkWouldBreakIsReachedAsItIs(String uri) {
        var engine = on(uri);

        assertThat(engine.links(0)).isEmpty();
        assertThat(engine.uri(0)).isEqualTo(uri);
    }

    private GivenEngine on(String uri) {
        var engine = GivenEngine.on(ConnectUri.parse(uri), "demo-test");
        for (var place = 0; place < engine.places(); place++) {
            links.addAll(engine.links(place));
        }
        return engine;
    }
}
