package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.bellwether.spi.Fields;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;

/** Whatever stands in the journal of elections: it is no record, or says something of the election that it names. */
class JournalFuzzTest {
    private static final long LEASE_NANOS = Duration.ofSeconds(10).toNanos();
    private static final long NOW = 1_000_000_000_000L;
    private static final String NEIGHBOUR = "the neighbour";

    @FuzzTest(maxDuration = "5s")
    void aForeignRecordHurtsNoOtherElection(byte[] bytes) {
        var elections = new HashMap<String, JournalRules>();
        var neighbour = new JournalRules(NEIGHBOUR, NOW);
        elections.put(NEIGHBOUR, neighbour);
        read(neighbour, new Entry(Entry.What.CLAIM, NEIGHBOUR, claim()), 0);
        var before = neighbour.known().viewAt(NOW);
        assertThat(before.holder()).isPresent();
        var offset = 1L;
        for (var line : new String(bytes, StandardCharsets.UTF_8).split("\n", -1)) {
            var space = Math.max(0, line.indexOf(' '));
            var parsed = Entry.parse(
                    line.substring(0, space).getBytes(StandardCharsets.UTF_8),
                    line.substring(space).strip().getBytes(StandardCharsets.UTF_8));
            if (parsed.isPresent() && !parsed.get().election().equals(NEIGHBOUR)) {
                var rules = elections.computeIfAbsent(parsed.get().election(), name -> new JournalRules(name, NOW));
                read(rules, parsed.get(), offset);
                var view = rules.known().viewAt(NOW);
                assertThat(view.remaining()).as("%s", view).isLessThanOrEqualTo(Duration.ofDays(366));
                rules.beginAgain(NOW);
            }
            offset++;
        }
        assertThat(neighbour.known().viewAt(NOW)).isEqualTo(before);
    }

    private static void read(JournalRules rules, Entry entry, long offset) {
        rules.read(entry, offset, Instant.EPOCH, NOW);
    }

    private static Fields claim() {
        return new Fields.Builder()
                .and("nonce", "nonce-of-ann")
                .and("instance", "ann-1")
                .and("candidate", "ann")
                .and("lease", LEASE_NANOS)
                .build();
    }
}
