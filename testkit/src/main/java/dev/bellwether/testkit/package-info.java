/**
 * For tests: elections that a test controls, and the contract that every backend has to pass.
 *
 * <p>For your own unit tests: {@link dev.bellwether.testkit.ControlledElections}, where a test says who leads and how
 * time passes, with {@link dev.bellwether.testkit.BellwetherExtension} for JUnit.
 *
 * <pre>{@code
 * try (var controlled = new ControlledElections()) {
 *     var candidacy = controlled.elections().stand("billing"); // what the code under test does
 *     var billing = controlled.election("billing");
 *     billing.acquire();
 *     assertThat(candidacy.isLeader()).isTrue();
 *     billing.goSilent();
 *     controlled.advance(Duration.ofSeconds(10)); // its lease: the deadline has passed
 *     assertThat(candidacy.isLeader()).isFalse();
 * }
 * }</pre>
 *
 * <p>For tests on real servers: {@link dev.bellwether.testkit.Eventually} waits without sleeping, and a {@link
 * dev.bellwether.testkit.LeadershipAuditor} looks all the time whether two ever lead at once.
 *
 * <h2>For authors of backends</h2>
 *
 * <p>{@link dev.bellwether.testkit.ElectionsContract} is a suite of facts. A backend extends it and supplies an {@link
 * dev.bellwether.testkit.Infrastructure}: how to connect, how to cut a client off, how to disturb the server. Each fact
 * plays on a {@link dev.bellwether.testkit.Stage}, which keeps the clients and {@link dev.bellwether.testkit.Actor}s of
 * one test, cleans up behind them, and has an auditor look.
 *
 * <p>To disturb: {@link dev.bellwether.testkit.FaultProxy} is a TCP link that can be cut, and {@link
 * dev.bellwether.testkit.LinkedLeaseStore} the same for a store that has no network.
 */
@NullMarked
package dev.bellwether.testkit;

import org.jspecify.annotations.NullMarked;
