/** Elections on ZooKeeper, beside Curator's LeaderLatch on the same server. */
@NullMarked
package dev.bellwether.benchmarks.zookeeper;

import org.jspecify.annotations.NullMarked;
