package dev.bellwether.cli.page;

import dev.bellwether.cli.command.UsageException;
import dev.bellwether.spi.Endpoint;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import picocli.CommandLine.Option;

/** Where to listen: the options of the verbs that answer HTTP. */
public final class ListenOptions {
    private static final Pattern NAME = Pattern.compile("[^\\s:/\\[\\]]+");

    @Option(
            names = "--listen",
            paramLabel = "ADDRESS",
            description =
                    "Listen on this address. Default: the loopback, so that only this machine sees it. There is no"
                            + " TLS: elsewhere than on the loopback, put a proxy with it in front.")
    private Optional<String> listen = Optional.empty();

    @Option(
            names = "--host",
            paramLabel = "NAME",
            description = "A name by which the page is called, beside localhost and addresses. May be given again.")
    private List<String> hosts = List.of();

    /** Refuses what is no port. */
    public static void requirePort(int port) {
        if (port != 0 && !Endpoint.isPort(port)) {
            throw new UsageException("--port: " + port + " is no port: a number from 1 to " + Endpoint.LARGEST_PORT
                    + ", or 0 for a free one");
        }
    }

    /** Returns where to listen, on this port. */
    public LocalHttp.Place place(int port) {
        requirePort(port);
        hosts.stream().filter(name -> !NAME.matcher(name).matches()).findFirst().ifPresent(name -> {
            throw new UsageException("--host: \"" + name + "\" is no name: give it without http:// and without a port");
        });
        try {
            var address = listen.isPresent() ? InetAddress.getByName(listen.get()) : InetAddress.getLoopbackAddress();
            return new LocalHttp.Place(new InetSocketAddress(address, port), hosts);
        } catch (UnknownHostException e) {
            throw new UsageException("--listen: there is no address " + listen.orElse(""), e);
        }
    }
}
