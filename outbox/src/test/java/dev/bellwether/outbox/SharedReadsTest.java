package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
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
}
