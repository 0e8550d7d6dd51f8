package dev.bellwether.kubernetes;

import io.kubernetes.client.extended.leaderelection.LeaderElectionConfig;
import io.kubernetes.client.extended.leaderelection.LeaderElector;
import io.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import io.kubernetes.client.openapi.ApiClient;
import io.kubernetes.client.util.Config;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import okhttp3.Interceptor;
import okhttp3.RequestBody;
import okhttp3.Response;
import okio.Buffer;

/** The elector of the official Java client itself. */
final class JavaElector implements ForeignElector {
    private final Setting setting;
    private final ApiClient client;
    private final Thread thread;
    private volatile boolean leads;
    private volatile boolean closed;

    JavaElector(Path kubeconfig, Setting setting) {
        this.setting = setting;
        try {
            client = Config.fromConfig(kubeconfig.toString());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        var timeout = (int) setting.timings().renewDeadline().toMillis() / 2;
        client.setHttpClient(client.getHttpClient()
                .newBuilder()
                .addInterceptor(JavaElector::withKind)
                .build());
        client.setReadTimeout(timeout).setConnectTimeout(timeout).setWriteTimeout(timeout);
        thread = new Thread(this::run, "java-" + setting.identity());
        thread.setDaemon(true);
        thread.start();
    }

    /** The test's server has Leases as a custom resource, and wants to be told of which kind an object is. */
    private static Response withKind(Interceptor.Chain chain) throws IOException {
        var request = chain.request();
        var body = request.body();
        if (body == null) {
            return chain.proceed(request);
        }
        try (var buffer = new Buffer()) {
            body.writeTo(buffer);
            var text = "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\","
                    + buffer.readUtf8()
                            .replaceFirst("^\\{", "")
                            .replaceAll("\"apiVersion\":\"[^\"]*\",|\"kind\":\"[^\"]*\",", "");
            return chain.proceed(request.newBuilder()
                    .method(request.method(), RequestBody.create(text, body.contentType()))
                    .build());
        }
    }

    private void run() {
        var timings = setting.timings();
        while (!closed) {
            var lock = new LeaseLock(setting.namespace(), setting.name(), setting.identity(), client);
            try (var elector = new LeaderElector(
                    new LeaderElectionConfig(lock, timings.lease(), timings.renewDeadline(), timings.retryPeriod()))) {
                elector.run(() -> leads = true, () -> leads = false);
            }
        }
    }

    @Override
    public boolean leads() {
        return leads;
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        thread.interrupt(); // its loop ends, tells its work to stop, and then it is closed, which releases
        try {
            thread.join(20_000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
