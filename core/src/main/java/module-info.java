/**
 * Leader election on the infrastructure you already run: the face, what a backend implements, and the machine between.
 */
@org.jspecify.annotations.NullMarked
module dev.bellwether.core {
    requires static transitive org.jspecify;
    requires org.slf4j;
    requires static jdk.jfr; // terms are recorded where it is there

    exports dev.bellwether;
    exports dev.bellwether.spi;
    exports dev.bellwether.spi.journal;
    exports dev.bellwether.memory;

    uses dev.bellwether.spi.ElectionsProvider;

    provides dev.bellwether.spi.ElectionsProvider with
            dev.bellwether.memory.MemoryProvider,
            dev.bellwether.internal.joint.JointProvider;
}
