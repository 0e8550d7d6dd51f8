package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class SharedReadsTest {
    private static final long EVER = Long.MIN_VALUE / 2;

    private long now;
    private int reads;
    private final SharedReads shared = new SharedReads(1_000_000, () -> ++now);

    private static Store.Divided rows(long... ids) {
        var rows = LongStream.of(ids)
                .mapToObj(id -> new Row(id, "e", "t", null, null, null, -1, -1, 0, false))
                .toList();
        return new Store.Divided(rows, new int[rows.size()], false);
    }

    private SharedReads.Page read(int shard, long after, long since, long... ids) throws SQLException {
        return shared.read(shard, after, since, own -> {
            reads++;
            return rows(ids);
        });
    }

    @Test
    void whatOneHasReadOthersTakeFromWhereverInItTheyAre() throws SQLException {
        shared.join(0);
        shared.join(1);
        var page = read(0, 10, EVER, 11, 12, 15);
        assertThat(read(1, 10, EVER)).isSameAs(page);
        assertThat(read(1, 14, EVER)).isSameAs(page);
        assertThat(reads).isEqualTo(1);
        assertThat(read(1, 15, EVER, 16).last()).as("behind it").isEqualTo(16);
        assertThat(read(1, 9, EVER, 11).after()).as("before it").isEqualTo(9);
        assertThat(reads).isEqualTo(3);
    }

    @Test
    void shardThatBeganLaterOrHasJoinedLaterReadsForItself() throws SQLException {
        shared.join(0);
        shared.join(1);
        read(0, 10, EVER, 11);
        read(1, 10, now, 11);
        assertThat(reads).as("its epoch was raised after the page was begun").isEqualTo(2);
        shared.join(2);
        read(2, 10, EVER, 11);
        assertThat(reads).as("the pages have nothing of it").isEqualTo(3);
    }

    @Test
    void oldPagesAreNotTaken() throws SQLException {
        shared.join(0);
        shared.join(1);
        read(0, 10, EVER, 11);
        now += 3_000_000_000L;
        read(1, 10, EVER, 11);
        assertThat(reads).isEqualTo(2);
    }

    @Test
    void idsThatAPageHadAreNoHolesForThoseWhoBeganBeforeIt() throws SQLException {
        shared.join(0);
        shared.join(1);
        read(0, 10, EVER, 11, 12, 13, 17);
        assertThat(holes(shared.seen(10, 20, EVER), 11, 20)).isEqualTo(List.of("14-16", "18-20"));
        assertThat(shared.seen(10, 20, now))
                .as("of before the epoch was raised")
                .isEmpty();
        assertThat(shared.seen(17, 20, EVER)).as("elsewhere").isEmpty();
    }

    private static List<String> holes(List<Seen> pages, long from, long to) {
        var holes = new ArrayList<String>();
        Seen.holes(pages, from, to, (first, last) -> holes.add(first + "-" + last));
        return holes;
    }

    @Test
    void holesAreWhatNoPageHad() throws SQLException {
        for (var seed = 0; seed < 2_000; seed++) {
            var random = new Random(seed);
            var pages = new ArrayList<Seen>();
            var seen = new TreeSet<Long>();
            for (var page = random.nextInt(4); page > 0; page--) {
                var ids = random.longs(1 + random.nextInt(20), 0, 60)
                        .sorted()
                        .distinct()
                        .toArray();
                LongStream.of(ids).forEach(seen::add);
                pages.add(Seen.of(new SharedReads.Page(-1, 0, Set.of(), rows(ids), 0)));
            }
            var from = random.nextInt(60);
            var to = from + random.nextInt(60);
            var missing = new TreeSet<Long>();
            Seen.holes(
                    pages,
                    from,
                    to,
                    (first, last) -> LongStream.rangeClosed(first, last)
                            .forEach(id -> assertThat(missing.add(id)).isTrue()));
            var expected = new TreeSet<Long>();
            LongStream.rangeClosed(from, to).filter(id -> !seen.contains(id)).forEach(expected::add);
            assertThat(missing).as("seed %s", seed).isEqualTo(expected);
        }
    }
}
