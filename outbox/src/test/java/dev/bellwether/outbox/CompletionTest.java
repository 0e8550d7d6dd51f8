package dev.bellwether.outbox;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** What a second statement is asked for. */
class CompletionTest {
    private static final Store.Wanted WANTED = new Store.Wanted(0, 5_000, 1_000, 0, 1);

    @Test
    void nothingIsAskedForWhereNoIdIsMissing() throws SQLException {
        var later = new Later();
        var shown = rows(LongStream.rangeClosed(1, 10));
        assertThat(Completion.completed(WANTED, new Gaps(100, 10), new Store.Found(List.of(), shown), later))
                .hasValueSatisfying(found -> assertThat(found.hot()).isEqualTo(shown));
        assertThat(later.asked).isEmpty();
    }

    @Test
    void holesAreAskedForAndNotWhatIsBehindTheLastRowOfAKey() throws SQLException {
        var later = new Later();
        var gaps = new Gaps(100, 10);
        gaps.noticed(-9, -7);
        var shown = new ArrayList<>(rows(LongStream.of(1, 2, 5, 6)));
        shown.add(new Row(9, "e9", "t", null, null, null, -1, -1, 0, false));
        Completion.completed(WANTED, gaps, new Store.Found(List.of(), shown), later);
        assertThat(later.asked).containsExactly(new Completion.Range(-9, -7), new Completion.Range(3, 4));
    }

    @Test
    void manyHolesAreOneRangeAndTheirRowsAreFound() throws SQLException {
        var later = new Later();
        rows(LongStream.of(1_501, 3_001)).forEach(row -> later.there.put(row.id(), row));
        var shown = rows(LongStream.rangeClosed(1, 1_000).map(n -> 2 * n));
        var found = Completion.completed(WANTED, new Gaps(100, 10), new Store.Found(List.of(), shown), later)
                .orElseThrow();
        assertThat(later.asked).containsExactly(new Completion.Range(1, 1_999));
        assertThat(found.hot()).hasSize(1_001).isSortedAccordingTo((a, b) -> Long.compare(a.id(), b.id()));
        assertThat(found.hot()).extracting(Row::id).contains(1_501L);
    }

    private static List<Row> rows(LongStream ids) {
        return ids.mapToObj(id -> new Row(id, "e" + id, "t", "k".getBytes(UTF_8), null, null, -1, -1, 0, false))
                .toList();
    }

    private static final class Later implements Completion.Later {
        private final TreeMap<Long, Row> there = new TreeMap<>();
        private final List<Completion.Range> asked = new ArrayList<>();

        @Override
        public void show(List<Completion.Range> ranges, Completion.Viewer viewer) {
            asked.addAll(ranges);
            there.values().stream()
                    .filter(row ->
                            ranges.stream().anyMatch(range -> range.from() <= row.id() && row.id() <= range.to()))
                    .forEach(row -> viewer.shown(row.id(), (Row.TopicKey) row.orderKey()));
        }

        @Override
        public List<Row> rows(List<Long> ids) {
            return ids.stream().map(there::get).toList();
        }
    }
}
