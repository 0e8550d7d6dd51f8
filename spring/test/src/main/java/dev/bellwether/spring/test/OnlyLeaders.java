package dev.bellwether.spring.test;

import dev.bellwether.spring.LeaderOnly;
import org.springframework.boot.context.TypeExcludeFilter;
import org.springframework.core.type.classreading.MetadataReader;
import org.springframework.core.type.classreading.MetadataReaderFactory;

/** Excludes every component that has nothing to do with leading. */
final class OnlyLeaders extends TypeExcludeFilter {
    @Override
    public boolean match(MetadataReader component, MetadataReaderFactory factory) {
        var metadata = component.getAnnotationMetadata();
        var name = LeaderOnly.class.getName();
        return !metadata.hasAnnotation(name) && !metadata.hasAnnotatedMethods(name);
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
