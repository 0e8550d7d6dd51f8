@NullMarked
package dev.bellwether.etcd;

import org.jspecify.annotations.NullMarked;
