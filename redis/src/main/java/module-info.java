/** Elections on Valkey and Redis. */
@org.jspecify.annotations.NullMarked
module dev.bellwether.redis {
    requires transitive dev.bellwether.core;
    requires transitive lettuce.core;
    requires org.slf4j;
    requires static transitive org.jspecify;

    exports dev.bellwether.redis;

    provides dev.bellwether.spi.ElectionsProvider with
            dev.bellwether.redis.RedisProvider;
}
