package dev.bellwether.examples.folder;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.RequestLimiter.Urgency;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * Records in a folder of a local disk, for the processes of one machine. Thread-safe.
 *
 * <p>A key is a folder, and each write a file in it whose name is its revision. The highest one counts; a writer who
 * comes second finds that the file is there. So nobody locks anything, and a process that is frozen or killed half-way
 * holds up nobody.
 */
final class FolderRecordStore implements RecordStore {
    private static final long LOOK_MILLIS = 50;
    private static final int LONGEST = 255; // of a file's name
    private static final String SUFFIX = "=";

    private final Path folder;
    private final Path drafts;
    private final ScheduledExecutorService disk;

    FolderRecordStore(Path folder) throws IOException {
        this.folder = folder;
        drafts = Files.createDirectories(folder.resolve("drafts"));
        disk = Executors.newSingleThreadScheduledExecutor();
    }

    @Override
    public void check(String election, CandidacyConfig config) {
        if (versions(RecordKey.seat(election)).getFileName().toString().length() > LONGEST) {
            throw new ElectionException("no folder can be named \"" + election + "\": use a shorter name");
        }
    }

    @Override
    public String describe() {
        return "folder " + folder;
    }

    @Override
    public String scope() {
        return "folder";
    }

    /** Without sessions and standbys, which would have to be removed: the revisions of a key would begin again. */
    @Override
    public RecordTraits traits() {
        return RecordTraits.PLAIN.sharing(0);
    }

    // tag::read-and-write
    @Override
    public CompletionStage<Found> read(RecordKey key, Urgency urgency, Duration timeout) {
        return soon(timeout, () -> found(versions(key)));
    }

    @Override
    public CompletionStage<Written> write(
            RecordKey key, long expected, Draft draft, Urgency urgency, Duration timeout) {
        return soon(timeout, () -> {
            var versions = Files.createDirectories(versions(key));
            var present = highest(versions);
            if (present != expected) {
                return Written.outdated(present);
            }
            return link(versions, expected, draft.text());
        });
    }

    Written link(Path versions, long expected, String text) throws IOException {
        var file = Files.writeString(drafts.resolve(UUID.randomUUID().toString()), text);
        var written = Files.getLastModifiedTime(file).toInstant();
        try {
            force(file);
            Files.createLink(versions.resolve(Long.toString(expected + 1)), file); // whole, or not at all
        } catch (FileAlreadyExistsException e) {
            return Written.outdated(highest(versions));
        } finally {
            Files.delete(file);
        }
        force(versions);
        if (highest(versions) != expected + 1) { // another write came after ours, or long before it: ours never counted
            throw new UnavailableException("who wrote revision " + (expected + 1) + " in " + versions + " is unknown");
        }
        for (var name : names(versions)) {
            if (Long.parseLong(name) <= expected) {
                Files.deleteIfExists(versions.resolve(name));
            }
        }
        return Written.at(expected + 1, written);
    }

    /** Reads the newest version, and looks again whether it was that while it was read. */
    private static Found found(Path versions) throws IOException {
        while (true) {
            var revision = highest(versions);
            if (revision == 0) {
                return Found.NOTHING;
            }
            try {
                var file = versions.resolve(Long.toString(revision));
                var text = Files.readString(file);
                var written = Files.getLastModifiedTime(file).toInstant();
                if (highest(versions) == revision) {
                    return new Found(text.isEmpty() ? What.DELETED : What.TEXT, revision, written, text);
                }
            } catch (NoSuchFileException e) {
                // there is a newer one: look again
            }
        }
    }
    // end::read-and-write

    /** Returns the folder of a key. Its name ends in what keeps "." and ".." from being themselves. */
    Path versions(RecordKey key) {
        return folder.resolve(key.path() + SUFFIX);
    }

    private static long highest(Path versions) throws IOException {
        return names(versions).stream().mapToLong(Long::parseLong).max().orElse(0);
    }

    private static List<String> names(Path folder) throws IOException {
        try (var files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString()).toList();
        } catch (NoSuchFileException e) {
            return List.of();
        }
    }

    /** Has a file, or the names in a folder, outlive a power failure. */
    private static void force(Path path) throws IOException {
        try (var channel = FileChannel.open(path, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    @Override
    public CompletionStage<Listing> list(List<String> beginning, int parts, Duration timeout) {
        return soon(timeout, () -> {
            var keys = new ArrayList<RecordKey>();
            for (var name : names(folder.resolve(RecordKey.folder(parts)))) {
                RecordKey.ofPath(RecordKey.folder(parts) + name.replace(SUFFIX, ""), parts)
                        .filter(key -> key.parts().subList(0, beginning.size()).equals(beginning))
                        .ifPresent(keys::add);
            }
            return new Listing(keys, Optional.of(Instant.now()), true);
        });
    }

    // tag::watch
    @Override
    public Watch watch(RecordKey key, Consumer<Found> heard) {
        var told = new AtomicLong();
        Runnable look = () -> {
            try {
                var found = found(versions(key));
                if (told.getAndSet(found.revision()) != found.revision()) {
                    heard.accept(found);
                }
            } catch (IOException | RuntimeException e) {
                // a watch is only a hint: a candidate that reads gets the error
            }
        };
        var looking = disk.scheduleWithFixedDelay(look, LOOK_MILLIS, LOOK_MILLIS, TimeUnit.MILLISECONDS);
        return () -> looking.cancel(false);
    }
    // end::watch

    private <T> CompletableFuture<T> soon(Duration timeout, Callable<T> work) {
        var answer = new CompletableFuture<T>();
        disk.execute(() -> {
            try {
                answer.complete(work.call());
            } catch (Exception e) {
                answer.completeExceptionally(e);
            }
        });
        return answer.orTimeout(timeout.toMillis(), TimeUnit.MILLISECONDS);
    }

    @Override
    public void close() {
        disk.shutdown();
    }
}
