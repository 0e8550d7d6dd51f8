/**
 * Elections on Apache ZooKeeper: one election is one node, its candidates are ephemeral sequential children, and the
 * first of them may lead.
 *
 * <p>Two things must come together for a candidate to lead. The <em>queue</em> says whose turn it is: nobody before us
 * is left, which no stale reading can make us believe, since nodes only vanish. The <em>session</em> says for how long:
 * {@link dev.bellwether.zookeeper.SessionProver} counts from requests of our own, and {@code docs/zookeeper.md} has the
 * argument which requests prove what, and why no two lead at once. The token is the zxid that created the candidate's
 * node.
 *
 * <p>{@link dev.bellwether.zookeeper.ZooKeeperElections} is what users see.
 */
@NullMarked
package dev.bellwether.zookeeper;

import org.jspecify.annotations.NullMarked;
