/**
 * Elections on etcd: a key is the seat, every change of it is a transaction that compares its revision, and the
 * revision of the claim that won is the token. Requests go through etcd's own JSON gateway, by the HTTP client of the
 * JDK.
 *
 * <p>Begin with {@link dev.bellwether.etcd.EtcdElections}, or with an {@code etcd:} URI.
 */
@NullMarked
package dev.bellwether.etcd;

import org.jspecify.annotations.NullMarked;
