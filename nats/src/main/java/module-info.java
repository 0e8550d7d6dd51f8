/** Elections in a key-value bucket of NATS JetStream. */
@org.jspecify.annotations.NullMarked
module dev.bellwether.nats {
    requires transitive dev.bellwether.core;
    requires transitive io.nats.jnats;
    requires org.slf4j;
    requires static transitive org.jspecify;

    exports dev.bellwether.nats;

    provides dev.bellwether.spi.ElectionsProvider with
            dev.bellwether.nats.NatsProvider;
}
