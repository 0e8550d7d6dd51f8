/**
 * Elections on Consul: a key is the seat, every change of it is a transaction that compares its index, and the index of
 * the claim that won is the token. Requests go through Consul's HTTP API, by the HTTP client of the JDK.
 *
 * <p>Begin with {@link dev.bellwether.consul.ConsulElections}, or with a {@code consul:} URI.
 */
@NullMarked
package dev.bellwether.consul;

import org.jspecify.annotations.NullMarked;
