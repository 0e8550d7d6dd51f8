/**
 * What backends have in common that speak HTTP and JSON: one request and its answer within a time, several members that
 * are asked one after the other, what it means when there is no answer.
 */
@NullMarked
package dev.bellwether.http;

import org.jspecify.annotations.NullMarked;
