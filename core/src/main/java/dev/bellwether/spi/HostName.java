package dev.bellwether.spi;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** What this host is called. Thread-safe: it holds nothing. */
public final class HostName {
    private static final Path OF_LINUX = Path.of("/proc/sys/kernel/hostname");

    private HostName() {}

    /**
     * Returns its name, as processes in other languages know it, too; empty if it has none. It is read from Linux where
     * that is possible: the JDK looks up the address of a host before it tells the name, and waits for name servers.
     */
    public static Optional<String> own() {
        try {
            return Optional.of(Files.readString(OF_LINUX).strip());
        } catch (IOException noLinux) {
            try {
                return Optional.of(InetAddress.getLocalHost().getHostName());
            } catch (UnknownHostException e) {
                return Optional.empty();
            }
        }
    }
}
