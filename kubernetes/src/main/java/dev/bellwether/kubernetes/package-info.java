/**
 * Elections on Kubernetes: a Lease is the seat, every change of it names the version that it replaces, and the version
 * of the claim that won is the token. Requests go to the API server by the HTTP client of the JDK.
 *
 * <p>Begin with {@link dev.bellwether.kubernetes.KubernetesElections}, or with a {@code k8s:} URI.
 */
@NullMarked
package dev.bellwether.kubernetes;

import org.jspecify.annotations.NullMarked;
