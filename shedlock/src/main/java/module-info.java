/** ShedLock's locks on any backend of Bellwether. */
@org.jspecify.annotations.NullMarked
module dev.bellwether.shedlock {
    requires transitive dev.bellwether.core;
    requires transitive net.javacrumbs.shedlock.core;
    requires org.slf4j;
    requires static transitive org.jspecify;

    exports dev.bellwether.shedlock;
}
