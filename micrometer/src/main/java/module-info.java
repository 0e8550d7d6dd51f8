/** The figures and terms of elections as Micrometer's meters and observations. */
@org.jspecify.annotations.NullMarked
module dev.bellwether.micrometer {
    requires transitive dev.bellwether.core;
    requires transitive micrometer.core;
    requires transitive micrometer.observation;
    requires micrometer.commons;
    requires static transitive org.jspecify;

    exports dev.bellwether.micrometer;
}
