/**
 * Elections in a Spring Boot application.
 *
 * <p>{@link dev.bellwether.spring.LeaderOnly} marks what runs only while this process leads: methods,
 * {@code @Scheduled} ones too, and {@code Lifecycle} beans. {@link dev.bellwether.spring.AcquiredEvent},
 * {@link dev.bellwether.spring.RevokedEvent} and {@link dev.bellwether.spring.FencedEvent} tell of each turn.
 * {@link dev.bellwether.spring.Candidacies} has the candidacies themselves, {@link dev.bellwether.Elections} is a bean
 * as well. Everything is set by {@link dev.bellwether.spring.BellwetherProperties}.
 *
 * <p>Candidacies begin when the context has started, and end when everything else in it has stopped.
 */
@NullMarked
package dev.bellwether.spring;

import org.jspecify.annotations.NullMarked;
