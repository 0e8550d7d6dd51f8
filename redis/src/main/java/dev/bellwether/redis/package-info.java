/**
 * Elections on Valkey and Redis: a key is the seat, every change of it is a script that compares what is there, and the
 * revision of the claim that won is the token. Requests go by Lettuce.
 *
 * <p>Begin with {@link dev.bellwether.redis.RedisElections}, or with a {@code redis:} URI.
 */
@NullMarked
package dev.bellwether.redis;

import org.jspecify.annotations.NullMarked;
