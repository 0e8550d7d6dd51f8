/** Elections in the key-value store of etcd. */
@org.jspecify.annotations.NullMarked
module dev.bellwether.etcd {
    requires transitive dev.bellwether.core;
    requires transitive java.net.http;
    requires dev.bellwether.http;
    requires com.fasterxml.jackson.core;
    requires org.slf4j;
    requires static transitive org.jspecify;

    exports dev.bellwether.etcd;

    provides dev.bellwether.spi.ElectionsProvider with
            dev.bellwether.etcd.EtcdProvider;
}
