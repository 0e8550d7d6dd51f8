package dev.bellwether.examples.folder;

import static java.util.concurrent.TimeUnit.MINUTES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.UnavailableException;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore.Draft;
import dev.bellwether.spi.RequestLimiter.Urgency;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FolderRecordStoreTest {
    private static final RecordKey KEY = RecordKey.seat("counter");
    private static final Duration TIMEOUT = Duration.ofMinutes(1);

    @TempDir
    private Path folder;

    @Test
    void eachRevisionIsWrittenByOne() throws Exception {
        var counting = new ArrayList<CompletableFuture<Set<Long>>>();
        for (var i = 0; i < 8; i++) {
            counting.add(CompletableFuture.supplyAsync(this::countTo, task -> new Thread(task).start()));
        }
        var all = new HashSet<Long>();
        for (var one : counting) {
            for (var written : one.get(2, MINUTES)) {
                assertThat(all.add(written)).as("%d was written once", written).isTrue();
            }
        }
    }

    @Test
    void aWriterThatWasFrozenBetweenItsLookAndItsLinkDoesNotKnowWhetherItWrote() throws IOException {
        try (var store = new FolderRecordStore(folder)) {
            for (var revision = 0; revision < 3; revision++) {
                store.write(KEY, revision, new Draft("in time", ""), Urgency.KEEP, TIMEOUT)
                        .toCompletableFuture()
                        .join();
            }
            assertThatThrownBy(() -> store.link(store.versions(KEY), 1, "late"))
                    .isInstanceOf(UnavailableException.class);
            var found =
                    store.read(KEY, Urgency.LOOK, TIMEOUT).toCompletableFuture().join();
            assertThat(found.revision()).isEqualTo(3);
            assertThat(found.text()).isEqualTo("in time");
        }
    }

    /** Counts up what is there until it is 500, beside others who do. Returns what was written here for sure. */
    private Set<Long> countTo() {
        var written = new HashSet<Long>();
        try (var store = new FolderRecordStore(folder)) {
            while (true) {
                var found = store.read(KEY, Urgency.LOOK, TIMEOUT)
                        .toCompletableFuture()
                        .join();
                var next = found.revision() == 0 ? 1 : Long.parseLong(found.text()) + 1;
                if (next > 500) {
                    return written;
                }
                var answer = store.write(
                                KEY, found.revision(), new Draft(Long.toString(next), ""), Urgency.KEEP, TIMEOUT)
                        .handle((done, unknown) -> done != null && done.done())
                        .toCompletableFuture()
                        .join();
                if (answer) {
                    written.add(next);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
