package dev.bellwether.testkit.nats;

import dev.bellwether.testkit.servers.Ports;
import dev.bellwether.testkit.servers.ServerProcess;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A nats-server with JetStream of one's own. Anybody who starts it says where its program is. Confined to one thread at
 * a time.
 */
public final class NatsServer extends ServerProcess {
    private final String jetStream;

    /**
     * Starts one, and returns before it serves.
     *
     * @param program the path of nats-server, or its name if it is on the path of the system
     * @param extra what else is configured, in the language of its configuration file
     */
    public NatsServer(String program, String name, int port, String extra) {
        this(program, name, port, "", extra);
    }

    /**
     * Starts one, and returns before it serves.
     *
     * @param program the path of nats-server, or its name if it is on the path of the system
     * @param jetStream what is configured of JetStream, beside where it keeps its data
     * @param extra what else is configured
     */
    public NatsServer(String program, String name, int port, String jetStream, String extra) {
        super(
                name,
                port,
                folder -> List.of(
                        program,
                        "-c",
                        configured(folder, name, port, jetStream, extra).toString()));
        this.jetStream = jetStream;
    }

    /**
     * Starts one by itself, and returns when it serves.
     *
     * @param program the path of nats-server, or its name if it is on the path of the system
     * @param extra what else is configured; may be empty
     */
    public static NatsServer alone(String program, String extra) {
        var server = new NatsServer(program, "nats", Ports.free(), extra);
        try {
            server.awaitPort();
            return server;
        } catch (Throwable e) {
            server.close();
            throw e;
        }
    }

    /** Returns how to reach it. */
    public String uri(String query) {
        return uri(port(), query);
    }

    /** Returns how to reach one by another port: that of a proxy. */
    public static String uri(int port, String query) {
        return "nats://127.0.0.1:" + port + "?" + query;
    }

    /** Has it take other settings while it runs, beside those of JetStream. */
    public void reload(String settings) {
        var unused = configured(folder(), name(), port(), jetStream, settings);
        signal("HUP");
    }

    private static Path configured(Path folder, String name, int port, String jetStream, String extra) {
        try {
            return Files.writeString(
                    folder.resolve("conf"), """
                    server_name: "%s"
                    listen: "127.0.0.1:%d"
                    jetstream {
                      store_dir: "%s"
                      %s
                    }
                    %s
                    """.formatted(name, port, folder.resolve("data"), jetStream, extra));
        } catch (IOException e) {
            throw new UncheckedIOException(name + " cannot be told its settings", e);
        }
    }
}
