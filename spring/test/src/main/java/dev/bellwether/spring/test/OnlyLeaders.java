package dev.bellwether.spring.test;

import dev.bellwether.spring.LeaderOnly;
import java.io.IOException;
import java.util.stream.Stream;
import org.springframework.boot.context.TypeExcludeFilter;
import org.springframework.core.type.AnnotationMetadata;
import org.springframework.core.type.classreading.MetadataReader;
import org.springframework.core.type.classreading.MetadataReaderFactory;

/** Excludes every component that has nothing to do with leading. */
final class OnlyLeaders extends TypeExcludeFilter {
    private static final String NAME = LeaderOnly.class.getName();

    @Override
    public boolean match(MetadataReader component, MetadataReaderFactory factory) {
        return !leads(component.getAnnotationMetadata(), factory);
    }

    /** As the starter finds it: by an annotation that has it, and on what a class extends or implements, too. */
    private static boolean leads(AnnotationMetadata type, MetadataReaderFactory factory) {
        var above = Stream.concat(Stream.ofNullable(type.getSuperClassName()), Stream.of(type.getInterfaceNames()));
        return type.isAnnotated(NAME)
                || type.hasAnnotatedMethods(NAME)
                || above.filter(name -> !name.startsWith("java.")).anyMatch(name -> leads(name, factory));
    }

    private static boolean leads(String type, MetadataReaderFactory factory) {
        try {
            return leads(factory.getMetadataReader(type).getAnnotationMetadata(), factory);
        } catch (IOException e) {
            return false; // it is not on the class path
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof OnlyLeaders;
    }

    @Override
    public int hashCode() {
        return OnlyLeaders.class.hashCode();
    }
}
