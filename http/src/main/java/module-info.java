/** What backends have in common that speak HTTP and JSON. For them only. */
@org.jspecify.annotations.NullMarked
@SuppressWarnings("module") // they are compiled later
module dev.bellwether.http {
    requires transitive dev.bellwether.core;
    requires transitive java.net.http;
    requires com.fasterxml.jackson.core;
    requires static transitive org.jspecify;

    exports dev.bellwether.http to
            dev.bellwether.etcd,
            dev.bellwether.consul,
            dev.bellwether.kubernetes;
}
