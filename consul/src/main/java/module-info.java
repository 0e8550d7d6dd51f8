/** Elections in the key-value store of Consul. */
@org.jspecify.annotations.NullMarked
module dev.bellwether.consul {
    requires transitive dev.bellwether.core;
    requires transitive java.net.http;
    requires dev.bellwether.http;
    requires org.slf4j;
    requires static transitive org.jspecify;

    exports dev.bellwether.consul;

    provides dev.bellwether.spi.ElectionsProvider with
            dev.bellwether.consul.ConsulProvider;
}
