/** ZooKeeper servers for tests and benchmarks: processes of their own, on the loopback interface only. */
@NullMarked
package dev.bellwether.testkit.zookeeper;

import org.jspecify.annotations.NullMarked;
