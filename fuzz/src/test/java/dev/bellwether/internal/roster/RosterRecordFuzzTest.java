package dev.bellwether.internal.roster;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;

/** Whatever stands in the journal of a roster: it is no record, or one that keeps nobody away forever. */
class RosterRecordFuzzTest {
    private static final Duration LEASE = Duration.ofSeconds(10);
    private static final long NOW = 1_000_000_000_000L;
    private static final int PARTITIONS = 4;

    @FuzzTest(maxDuration = "5s")
    void aForeignRecordKeepsNobodyAwayForever(byte[] bytes) {
        var ledger = new RosterLedger("roster", PARTITIONS, LEASE);
        var offset = 0L;
        for (var line : new String(bytes, StandardCharsets.UTF_8).split("\n", -1)) {
            var parsed = RosterRecord.parse(line.getBytes(StandardCharsets.UTF_8));
            if (parsed.isPresent()) {
                assertThat(RosterRecord.parse(parsed.get().bytes())).isEqualTo(parsed);
                ledger.read(parsed.get(), offset++, NOW);
            } else {
                ledger.skip(offset++);
            }
        }
        ledger.beganAgain(offset + 1, NOW);
        for (var partition = 0; partition < PARTITIONS; partition++) {
            assertThat(ledger.barredNanosAt(NOW, "ann", partition))
                    .as("for so long somebody else may lead partition %d", partition)
                    .isLessThanOrEqualTo(Duration.ofDays(366).toNanos());
        }
        ledger.read(claim(), offset + 1, NOW);
        assertThat(ledger.nextOffset()).isEqualTo(offset + 2);
    }

    private static RosterRecord claim() {
        return new RosterRecord(
                RosterRecord.What.CLAIM, "roster", PARTITIONS, "ann-1", "ann", 1, 0, LEASE, Map.of(2, 0L));
    }
}
