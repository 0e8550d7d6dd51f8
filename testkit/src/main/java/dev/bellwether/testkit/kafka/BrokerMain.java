package dev.bellwether.testkit.kafka;

import dev.bellwether.testkit.servers.JvmServer;
import java.io.PrintStream;

/**
 * What a broker's process runs: formats its storage, if that is new, then serves until it is stopped. In one process,
 * since most of the time that either takes is the start of a JVM.
 *
 * <p>By reflection, so that the testkit depends on no Kafka: who starts brokers has {@code org.apache.kafka:kafka_2.13}
 * on the class path.
 */
final class BrokerMain {
    private BrokerMain() {}

    /** Takes the file of properties and the id of the cluster. */
    public static void main(String[] args) throws ReflectiveOperationException {
        JvmServer.endWithParent();
        var format = new String[] {"format", "--ignore-formatted", "--config", args[0], "--cluster-id", args[1]};
        var code = Class.forName("kafka.tools.StorageTool")
                .getMethod("execute", String[].class, PrintStream.class)
                .invoke(null, format, System.err);
        if (!code.equals(0)) {
            throw new IllegalStateException("formatting the storage failed with code " + code);
        }
        Class.forName("kafka.Kafka").getMethod("main", String[].class).invoke(null, (Object) new String[] {args[0]});
    }
}
