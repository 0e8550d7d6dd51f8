package dev.bellwether.kubernetes;

import dev.bellwether.testkit.faults.Contestant;
import java.nio.file.Path;

/**
 * The electors of others on a Lease, for the fault bench, with the proportions of client-go's defaults: the renew
 * deadline is two thirds of the lease, the retry period two fifteenths. They have no token; the instant at which one was
 * first seen to lead stands for it. The URI is the path of a kubeconfig file.
 */
@SuppressWarnings("exports") // tests are not modules
public final class ElectorInAProcess implements Contestant {
    private final ForeignElector elector;
    private boolean led;
    private long token;

    private ElectorInAProcess(ForeignElector elector) {
        this.elector = elector;
    }

    /** The elector of fabric8. */
    public static final class Fabric8 implements Maker {
        /** For the process that stands. */
        public Fabric8() {}

        @Override
        public Contestant stand(Orders orders) {
            return new ElectorInAProcess(new Fabric8Elector(Path.of(orders.uri()), setting(orders)));
        }
    }

    /** The elector of the official Java client. */
    public static final class JavaClient implements Maker {
        /** For the process that stands. */
        public JavaClient() {}

        @Override
        public Contestant stand(Orders orders) {
            return new ElectorInAProcess(new JavaElector(Path.of(orders.uri()), setting(orders)));
        }
    }

    private static ForeignElector.Setting setting(Orders orders) {
        var lease = orders.lease();
        var timings = new ForeignElector.Timings(
                lease, lease.multipliedBy(2).dividedBy(3), lease.multipliedBy(2).dividedBy(15));
        return new ForeignElector.Setting(0, "theirs", orders.election(), orders.candidate(), timings);
    }

    @Override
    public synchronized boolean isLeader() {
        var leads = elector.leads();
        if (leads && !led) {
            token = System.nanoTime();
        }
        led = leads;
        return leads;
    }

    @Override
    public synchronized long token() {
        return token;
    }

    @Override
    public void close() {
        elector.close();
    }
}
