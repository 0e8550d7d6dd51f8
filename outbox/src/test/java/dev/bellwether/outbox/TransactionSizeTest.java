package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class TransactionSizeTest {
    private static final long TIMEOUT = 1_000;
    private static final long SOON = 10;

    private final TransactionSize size = new TransactionSize(20_000, TIMEOUT);

    private void full(long nanos) {
        size.begins(size.records());
        size.succeeded(size.records(), nanos);
    }

    @Test
    void growsWhileABacklogFillsEachAndEachEndsSoon() {
        assertThat(size.records()).isEqualTo(5_000);
        size.begins(4_000);
        size.succeeded(4_000, SOON);
        assertThat(size.records()).as("none was full").isEqualTo(5_000);
        full(TIMEOUT / 10);
        assertThat(size.records()).as("it took a while").isEqualTo(5_000);
        full(SOON);
        assertThat(size.records()).isEqualTo(10_000);
        full(SOON);
        full(SOON);
        assertThat(size.records()).as("the bound").isEqualTo(20_000);
    }

    @Test
    void shrinksToWhatEndsInTimeAndStaysThereForAWhile() {
        var canEnd = 3_000;
        var failures = 0;
        for (var transaction = 0; transaction < 200; transaction++) {
            var records = size.records();
            size.begins(records);
            if (records > canEnd) {
                size.failed();
                failures++;
            } else {
                size.succeeded(records, SOON);
            }
        }
        assertThat(failures).as("failures of 200 transactions").isBetween(1, 25);
        assertThat(size.records()).isBetween(canEnd / 2, canEnd * 11 / 10 + 10);
    }

    @Test
    void shrinksDownToOneRecord() {
        for (var failure = 0; failure < 20; failure++) {
            size.begins(size.records());
            size.failed();
        }
        assertThat(size.records()).isEqualTo(1);
        for (var transaction = 0; transaction < 200; transaction++) {
            full(SOON);
        }
        assertThat(size.records()).isEqualTo(20_000);
    }

    @Test
    void halvesWhatWasCloseToItsTimeOut() {
        full(TIMEOUT / 2);
        assertThat(size.records()).isEqualTo(2_500);
    }

    @Test
    void failureWithNothingUnderWaySaysNothingOfTheSize() {
        full(SOON);
        size.failed();
        size.begins(10);
        size.forget();
        size.failed();
        assertThat(size.records()).isEqualTo(10_000);
    }

    @Test
    void isNeverMoreThanWhatIsAsked() {
        var small = new TransactionSize(7, TIMEOUT);
        assertThat(small.records()).isEqualTo(7);
        small.begins(7);
        small.succeeded(7, SOON);
        assertThat(small.records()).isEqualTo(7);
    }
}
