package dev.bellwether.nats;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Endpoint;
import dev.bellwether.spi.TlsStores;
import io.nats.client.Options;
import io.nats.client.impl.NatsServerPool;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.security.KeyManagementException;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SNIServerName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLContextSpi;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLServerSocketFactory;
import javax.net.ssl.SSLSessionContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;
import org.jspecify.annotations.Nullable;

/**
 * TLS for connections of ours, by which a server is accepted only with a certificate for its host: the client itself
 * does not check that. The client looks names up first, and then connects to an address: here is remembered which name
 * the address is of. An address that another server has told of must be in the certificate, or else the first name of
 * the URI. Thread-safe.
 */
final class NatsTls {
    private final SSLContext plain;
    private final List<String> hosts; // that the URI names
    private final List<SNIServerName> first; // the first of them that is a name; empty if there is none
    private final Map<String, String> names = new ConcurrentHashMap<>(); // by address

    private NatsTls(SSLContext plain, List<String> hosts) {
        this.plain = plain;
        this.hosts = hosts;
        first = hosts.stream()
                .filter(host -> !isAddress(host))
                .limit(1)
                .flatMap(host -> names(host).stream())
                .toList();
    }

    /**
     * Reads what the URI says of it.
     *
     * @throws ElectionException if a store of certificates cannot be read
     */
    static NatsTls of(ConnectUri uri) {
        return new NatsTls(
                TlsStores.areIn(uri) ? TlsStores.of(uri).context() : ofTheJdk(),
                Endpoint.of(uri).stream().map(Endpoint::host).toList());
    }

    /** This one knows the stores that the system properties of the JDK name. */
    private static SSLContext ofTheJdk() {
        try {
            return SSLContext.getDefault();
        } catch (NoSuchAlgorithmException e) {
            throw new ElectionException("this JDK has no TLS: " + e.getMessage(), e);
        }
    }

    /** Has connections that are made by these options speak TLS. */
    void applyTo(Options.Builder options) {
        options.sslContext(new Context(plain, new Sockets())).serverPool(new Pool());
    }

    private static boolean isAddress(String host) {
        return host.contains(":") || host.matches("[0-9.]+");
    }

    private static List<SNIServerName> names(String host) {
        try {
            return List.of(new SNIHostName(host));
        } catch (IllegalArgumentException e) {
            return List.of(); // such as one with an underscore
        }
    }

    /** Notes which addresses the client is given for a name. */
    private final class Pool extends NatsServerPool {
        @Override
        public @Nullable List<String> resolveHostToIps(String host, boolean one, boolean isWithSix) {
            var found = super.resolveHostToIps(host, one, isWithSix);
            if (found != null) {
                names.values().removeIf(host::equals);
                found.forEach(address -> names.put(address, host));
            }
            return found;
        }
    }

    /** Makes sockets that check which host they speak to, over those that the client has connected. */
    private final class Sockets extends SSLSocketFactory {
        @Override
        public Socket createSocket(Socket connected, String host, int port, boolean autoClose) throws IOException {
            var plainly = host.replaceAll("[\\[\\]]", ""); // an address of IPv6 has brackets
            var name = names.getOrDefault(plainly, plainly);
            var socket = (SSLSocket) plain.getSocketFactory().createSocket(connected, name, port, autoClose);
            var parameters = socket.getSSLParameters();
            parameters.setEndpointIdentificationAlgorithm("HTTPS");
            if (isAddress(name) && !hosts.contains(name)) {
                parameters.setServerNames(first); // the JDK tries this one first, then the address
            }
            socket.setSSLParameters(parameters);
            return socket;
        }

        @Override
        public String[] getDefaultCipherSuites() {
            return plain.getSocketFactory().getDefaultCipherSuites();
        }

        @Override
        public String[] getSupportedCipherSuites() {
            return plain.getSocketFactory().getSupportedCipherSuites();
        }

        @Override
        public Socket createSocket(String host, int port) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Socket createSocket(String host, int port, InetAddress from, int fromPort) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Socket createSocket(InetAddress host, int port) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Socket createSocket(InetAddress host, int port, InetAddress from, int fromPort) {
            throw new UnsupportedOperationException();
        }
    }

    /** A context with another factory of sockets. */
    private static final class Context extends SSLContext {
        private Context(SSLContext plain, SSLSocketFactory sockets) {
            super(new ContextSpi(plain, sockets), plain.getProvider(), plain.getProtocol());
        }
    }

    private static final class ContextSpi extends SSLContextSpi {
        private final SSLContext plain;
        private final SSLSocketFactory sockets;

        private ContextSpi(SSLContext plain, SSLSocketFactory sockets) {
            this.plain = plain;
            this.sockets = sockets;
        }

        @Override
        protected void engineInit(KeyManager[] keys, TrustManager[] trust, SecureRandom random)
                throws KeyManagementException {
            plain.init(keys, trust, random);
        }

        @Override
        protected SSLSocketFactory engineGetSocketFactory() {
            return sockets;
        }

        @Override
        protected SSLServerSocketFactory engineGetServerSocketFactory() {
            return plain.getServerSocketFactory();
        }

        @Override
        protected SSLEngine engineCreateSSLEngine() {
            return plain.createSSLEngine();
        }

        @Override
        protected SSLEngine engineCreateSSLEngine(String host, int port) {
            return plain.createSSLEngine(host, port);
        }

        @Override
        protected SSLSessionContext engineGetServerSessionContext() {
            return plain.getServerSessionContext();
        }

        @Override
        protected SSLSessionContext engineGetClientSessionContext() {
            return plain.getClientSessionContext();
        }
    }
}
