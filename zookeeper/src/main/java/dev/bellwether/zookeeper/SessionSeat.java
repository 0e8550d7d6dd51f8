package dev.bellwether.zookeeper;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Proof;
import java.time.Duration;
import java.util.Optional;

/** A seat whose node lives in a session, as the session knows it. Told on the loop. */
interface SessionSeat {

    CandidacyConfig config();

    /** Returns the loop that the turns of this seat are taken on. */
    Loop loop();

    /** Returns the node that the next proof is to check; empty if the proof is of no use to this seat. */
    Optional<String> toCheck();

    /** That node is not there, as a proof has found. */
    void vanished();

    /**
     * The session was proven.
     *
     * @param checked whether the node of this seat was, too
     */
    void proven(Proof proof, Duration latency, boolean checked);

    /** The session could not be proven, after so long. */
    void unproven(Duration waited);

    /** There is a connection again. */
    void connected();

    /** The session is gone, and with it our node. */
    void expired();

    /** The servers do not let this seat have what it needs; or it threw, and nobody knows any more where it stands. */
    void refused(ElectionException refusal);
}
