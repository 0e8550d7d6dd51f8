/** What jetcd's Election on etcd does, for scale: Bellwether has no backend there. */
@NullMarked
package dev.bellwether.benchmarks.etcd;

import org.jspecify.annotations.NullMarked;
