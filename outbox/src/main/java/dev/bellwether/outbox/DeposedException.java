package dev.bellwether.outbox;

/** Another leader has taken the shard over, in the database. */
final class DeposedException extends Exception {
    private static final long serialVersionUID = 1;

    DeposedException(int shard, long epoch) {
        super("shard " + shard + " has another leader: epoch " + epoch + " is over");
    }
}
