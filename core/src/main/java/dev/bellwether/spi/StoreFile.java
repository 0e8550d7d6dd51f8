package dev.bellwether.spi;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What is made of a store of certificates, and made again when the file has changed. Thread-safe. */
final class StoreFile<T> {
    private static final Logger log = LoggerFactory.getLogger(StoreFile.class);

    private final ConnectUri uri;
    private final String parameter;
    private final Use<T> use;
    private @Nullable Version version; // guarded by this
    private @Nullable Version refused; // guarded by this
    private T made; // guarded by this

    /** Reads the file that this parameter of a URI names, for the first time. */
    StoreFile(ConnectUri uri, String parameter, Use<T> use) throws IOException, GeneralSecurityException {
        this.uri = uri;
        this.parameter = parameter;
        this.use = use;
        version = version();
        made = make();
    }

    /** Makes something of a store. */
    interface Use<T> {
        T of(@Nullable KeyStore store, char[] password) throws GeneralSecurityException;
    }

    /** By what one notices that a file is not the one that was read. */
    private record Version(
            FileTime time, long size, @Nullable Object file) {}

    /**
     * Returns what the file gives now. A file that cannot be read, as while somebody writes it, changes nothing, and is
     * read again the next time.
     */
    synchronized T current() {
        try {
            var found = version(); // before it is read: what is written meanwhile is another version
            if (found != null && !found.equals(version)) {
                make(found);
            }
        } catch (IOException e) {
            log.debug("{}: cannot look at the file that {} names", uri, parameter, e); // it is being replaced
        }
        return made;
    }

    private void make(Version found) {
        try {
            made = make();
            version = found;
            refused = null;
            log.info("{}: the file that {} names has changed, and was read again", uri, parameter);
        } catch (IOException | GeneralSecurityException | IllegalArgumentException e) {
            if (!found.equals(refused)) {
                refused = found;
                log.warn(
                        "{}: the file that {} names has changed, and cannot be read as a keystore ({}). What was read"
                                + " before is used until it can be. Each new connection looks at it again",
                        uri,
                        parameter,
                        uri.redact(e.toString())); // of one that ends too early the JDK says no more
            }
        }
    }

    private T make() throws IOException, GeneralSecurityException {
        var password = uri.parameter(parameter + "Password").orElse("").toCharArray();
        var file = file();
        return use.of(file == null ? null : KeyStore.getInstance(file, password), password);
    }

    private @Nullable Version version() throws IOException {
        var file = file();
        if (file == null) {
            return null;
        }
        var found = Files.readAttributes(file.toPath(), BasicFileAttributes.class);
        return new Version(found.lastModifiedTime(), found.size(), found.fileKey());
    }

    private @Nullable File file() {
        return uri.parameter(parameter).map(File::new).orElse(null);
    }
}
