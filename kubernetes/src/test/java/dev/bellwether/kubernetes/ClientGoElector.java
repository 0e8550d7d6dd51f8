package dev.bellwether.kubernetes;

import dev.bellwether.fixtures.ChildProcess;
import dev.bellwether.fixtures.ForeignElector;
import dev.bellwether.fixtures.Scripts;
import java.nio.file.Path;
import java.time.Duration;

/** The elector of client-go itself, in a process of its own: {@code src/test/go/elector.go}. */
final class ClientGoElector implements ForeignElector {
    private final ChildProcess process;
    private volatile boolean leads;

    ClientGoElector(Path kubeconfig, Setting setting) {
        var timings = setting.timings();
        process = ChildProcess.start(
                line -> leads = line.equals("leads"),
                Path.of(Scripts.where("client-go")),
                kubeconfig.toString(),
                setting.namespace(),
                setting.name(),
                setting.identity(),
                go(timings.lease()),
                go(timings.renewDeadline()),
                go(timings.retryPeriod()));
    }

    private static String go(Duration duration) {
        return duration.toMillis() + "ms";
    }

    @Override
    public boolean leads() {
        return leads;
    }

    @Override
    public void close() {
        process.close();
        leads = false;
        System.out.println(process); // with what client-go has logged
    }
}
