package dev.bellwether.outbox;

/** What is said when a relay must not begin. */
final class Refusals {
    private Refusals() {}

    static String shards(String table, int there, int here) {
        return "outbox " + table + " is divided into " + there + " shards, and this relay is set to " + here
                + ": two relays that divide it differently would publish rows twice, and out of order. Set shards to "
                + there + ", or stop all relays and divide it anew with OutboxAdmin.divide";
    }
}
