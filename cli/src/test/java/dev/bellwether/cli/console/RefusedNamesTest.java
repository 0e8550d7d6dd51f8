package dev.bellwether.cli.console;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Elections;
import dev.bellwether.cli.OddStores;
import dev.bellwether.cli.page.Feed;
import dev.bellwether.cli.page.PageClock;
import dev.bellwether.testkit.Eventually;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the console makes of an election whose name this version refuses. */
@Timeout(120)
class RefusedNamesTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @Test
    void itIsShownAsUnknownWithTheReasonAndTheOthersAreWatched() throws Exception {
        var store = UUID.randomUUID().toString();
        var feed = new Feed();
        try (var all = Elections.connect("memory:" + store);
                var leader = all.stand("later");
                var elections = Elections.connect("odd:" + store);
                var monitor = new ElectionMonitor(elections, feed, new PageClock(), "here", false)) {
            assertThat(leader.await(PATIENCE)).isPresent();
            for (var look = 0; look < 2; look++) {
                monitor.look();
                assertThat(objects(feed, "\"is\":\"backend\""))
                        .contains("\"complaint\":\"\"")
                        .doesNotContain("unknownSince");
            }
            assertThat(objects(feed, "\"name\":\"odd")).contains("\"known\":false");
            Eventually.eventually(
                    "the other is known",
                    PATIENCE,
                    () -> objects(feed, "\"name\":\"later\"").contains("\"known\":true"));
            assertThatThrownBy(() -> monitor.look(Map.of("name", "odd" + OddStores.OBEYED)))
                    .isInstanceOf(IllegalArgumentException.class) // which the page shows
                    .hasMessageContaining("is not printable");
        }
    }

    private static String objects(Feed feed, String with) {
        return String.join(
                "\n",
                feed.since(0).objects().stream()
                        .filter(one -> one.contains(with))
                        .toList());
    }
}
