package dev.bellwether.kafka;

import java.time.Duration;

/** The thread of one candidacy, and the mail to it. */
interface SeatThread {
    /** Has the thread do this, soon. For any thread. */
    void post(Runnable message);

    /** Waits for a message, at most for so long, and obeys it. On the thread only. */
    void await(Duration longest);

    /** Returns whether the thread is to end, whatever it is about. */
    boolean abandoned();
}
