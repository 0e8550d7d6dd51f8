/** Ours and the Election of jetcd, on etcd. */
@NullMarked
package dev.bellwether.benchmarks.etcd;

import org.jspecify.annotations.NullMarked;
