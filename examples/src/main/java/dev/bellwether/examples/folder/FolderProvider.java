package dev.bellwether.examples.folder;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.Backend;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.ElectionsProvider;
import dev.bellwether.spi.LeaseStore;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/** Knows {@code folder:/path} URIs. */
public final class FolderProvider implements ElectionsProvider {
    /** For {@link java.util.ServiceLoader}. */
    public FolderProvider() {}

    // tag::provider
    @Override
    public Set<String> schemes() {
        return Set.of("folder");
    }

    @Override
    public void check(ConnectUri uri) {
        uri.requireKnown(List.of());
        if (!uri.body().startsWith("/")) {
            throw new ElectionException(uri + " names no folder: it must be like folder:/var/lib/app/elections");
        }
    }

    @Override
    public Backend connect(ConnectUri uri) {
        check(uri);
        try {
            return LeaseStore.over(new FolderRecordStore(Path.of(uri.body())));
        } catch (IOException e) {
            throw new ElectionException("cannot write to the folder of " + uri + ": " + e, e);
        }
    }
    // end::provider
}
