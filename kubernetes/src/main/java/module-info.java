/** Elections on the Leases of Kubernetes. */
@org.jspecify.annotations.NullMarked
module dev.bellwether.kubernetes {
    requires transitive dev.bellwether.core;
    requires transitive java.net.http;
    requires dev.bellwether.http;
    requires com.fasterxml.jackson.core;
    requires org.slf4j;
    requires org.yaml.snakeyaml;
    requires static transitive org.jspecify;

    exports dev.bellwether.kubernetes;

    provides dev.bellwether.spi.ElectionsProvider with
            dev.bellwether.kubernetes.KubernetesProvider;
}
