package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

class PublishedTest {

    @Test
    void whatWasWrittenIsRead() {
        var random = new Random(7);
        for (var round = 0; round < 1_000; round++) {
            var ids = new TreeSet<Long>();
            var id = random.nextInt(10) == 0 ? -5L : Math.abs(random.nextLong() >> random.nextInt(63));
            for (var i = random.nextInt(50); i >= 0; i--) {
                id += random.nextInt(3) > 0 ? 1 : random.nextInt(100_000);
                ids.add(id);
            }
            var rows = new ArrayList<>(ids.stream().map(PublishedTest::row).toList());
            java.util.Collections.shuffle(rows, random);
            var number = random.nextLong() >>> random.nextInt(64);
            var read =
                    Published.read(Published.of(number, number / 2, round, rows).write());
            assertThat(read.number()).isEqualTo(number);
            assertThat(read.base()).isEqualTo(number / 2);
            assertThat(read.epoch()).isEqualTo(round);
            assertThat(read.ids())
                    .containsExactly(ids.stream().mapToLong(Long::longValue).toArray());
            assertThat(read.hashes())
                    .containsExactly(
                            ids.stream().mapToInt(i -> Published.hash("e" + i)).toArray());
        }
    }

    @Test
    void aRowTakesFewBytesAndNeverMoreThanTold() {
        var inARow = new ArrayList<Row>();
        var apart = new ArrayList<Row>();
        for (var i = 0; i < 5_000; i++) {
            inARow.add(row(1_000_000_000L + i));
            apart.add(row(i % 2 == 0 ? Long.MIN_VALUE + i : Long.MAX_VALUE - i));
        }
        assertThat(Published.of(1, 0, 1, inARow).write()).hasSizeLessThan(20_100);
        assertThat(Published.of(1, 0, 1, apart).write()).hasSizeLessThan(5_000 * Published.BYTES_PER_ROW + 100);
    }

    @Test
    void whatIsNoProgressIsRefusedAndHarmsNobody() {
        var whole = Published.of(300, 7, 5, List.of(row(1), row(2), row(700))).write();
        for (var length = 0; length < whole.length; length++) {
            var part = Arrays.copyOf(whole, length);
            assertThatThrownBy(() -> Published.read(part)).isInstanceOf(Published.UnreadableException.class);
        }
        var random = new Random(8);
        for (var round = 0; round < 100_000; round++) {
            var garbage = new byte[random.nextInt(40)];
            random.nextBytes(garbage);
            if (garbage.length > 0) {
                garbage[0] = 1;
            }
            try {
                Published.read(garbage);
            } catch (Published.UnreadableException e) {
                assertThat(e).hasMessageContaining("progress");
            }
        }
        whole[0] = 2;
        assertThatThrownBy(() -> Published.read(whole)).hasMessageContaining("start relays of the newer version");
    }

    private static Row row(long id) {
        return new Row(id, "e" + id, "t", null, null, null, -1, -1, 0, false);
    }
}
