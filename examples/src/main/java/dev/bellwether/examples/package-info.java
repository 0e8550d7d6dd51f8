/** Code that the documents show, compiled and run by the tests. */
@org.jspecify.annotations.NullMarked
package dev.bellwether.examples;
