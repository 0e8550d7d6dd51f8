/**
 * What a backend has to pass, and what passes it.
 *
 * <p>{@link dev.bellwether.testkit.ElectionsContract} is a suite of facts. A backend extends it and supplies an {@link
 * dev.bellwether.testkit.Infrastructure}: how to connect, how to cut a client off, how to disturb the server. Each fact
 * plays on a {@link dev.bellwether.testkit.Stage}, which keeps the clients and {@link dev.bellwether.testkit.Actor}s of
 * one test, cleans up behind them, and lets a {@link dev.bellwether.testkit.LeadershipAuditor} look all the time
 * whether two ever lead at once.
 *
 * <p>To disturb: {@link dev.bellwether.testkit.FaultProxy} is a TCP link that can be cut, and {@link
 * dev.bellwether.testkit.LinkedLeaseStore} the same for a store that has no network. To wait without sleeping: {@link
 * dev.bellwether.testkit.Eventually}.
 *
 * <p>For your own unit tests: {@link dev.bellwether.testkit.ControlledElections}, where a test says who leads and how
 * time passes, with {@link dev.bellwether.testkit.BellwetherExtension} for JUnit.
 */
@NullMarked
package dev.bellwether.testkit;

import org.jspecify.annotations.NullMarked;
