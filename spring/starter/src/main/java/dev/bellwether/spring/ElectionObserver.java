package dev.bellwether.spring;

/** Hears in which elections this application stands. */
@FunctionalInterface
interface ElectionObserver {
    void standing(String election);
}
