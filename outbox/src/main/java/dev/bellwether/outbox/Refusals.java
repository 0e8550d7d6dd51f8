package dev.bellwether.outbox;

/** What is said when a relay must not begin. */
final class Refusals {
    private Refusals() {}

    static String nodes(String table, String nodes) {
        return "outbox " + table + " is in " + nodes
                + ": ids are drawn and transactions are open on other nodes, where this relay cannot see them, so"
                + " the order of a key would break. Nothing is published. Let one node write (Galera: keep the"
                + " outbox in a database of its own; group replication: group_replication_single_primary_mode=ON)";
    }

    static String replica(String table) {
        return "outbox " + table + " is read on a server that takes no writes, such as a replica: what was deleted may"
                + " still be there, and who is about to commit is not seen, so records would be published again, and"
                + " the order of a key would break. Nothing is published. Give the relay the address of the primary;"
                + " where a proxy sends reads to replicas, let it send all of the relay's statements to the primary";
    }

    static String version(String table, String there, String oldest) {
        return "outbox " + table + " is on a server of version " + there + ": it takes at least " + oldest
                + ", which has JSON_TABLE, by which rows are deleted once they are published. Nothing is published."
                + " Upgrade the server";
    }

    static String name(String table, String there, String here) {
        return "outbox table " + table + " is served under the name \"" + there + "\", and this relay is set to \""
                + here
                + "\": there is no fence between two names, so both would publish each row.  Nothing is published"
                + " from here. Set the name to \"" + there + "\", or stop all relays and rename it with"
                + " OutboxAdmin.rename";
    }

    static String shards(String table, int there, int here) {
        return "outbox " + table + " is divided into " + there + " shards, and this relay is set to " + here
                + ": two relays that divide it differently would publish rows twice, and out of order. Set shards to "
                + there + ", or stop all relays and divide it again with OutboxAdmin.divide";
    }
}
