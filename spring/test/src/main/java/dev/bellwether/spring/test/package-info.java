/**
 * Tests of Spring Boot applications in which the test says who leads.
 *
 * <p>{@link dev.bellwether.spring.test.BellwetherTest} is a slice: only what leads, and what the test imports. {@link
 * dev.bellwether.spring.test.AutoConfigureControlledElections} puts the same control into any other test of an
 * application.
 */
@NullMarked
package dev.bellwether.spring.test;

import org.jspecify.annotations.NullMarked;
