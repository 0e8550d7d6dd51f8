package dev.bellwether.sql;

import dev.bellwether.fixtures.DatabaseServer;
import dev.bellwether.fixtures.PgBouncer;
import dev.bellwether.fixtures.PgBouncer.Mode;
import dev.bellwether.fixtures.PostgresServer;

/** A PostgreSQL that is reached through PgBouncer, but for its owner. Confined to one thread at a time. */
final class BouncedPostgres implements DatabaseServer {
    private final PostgresServer server = PostgresServer.start();
    private final PgBouncer bouncer;

    BouncedPostgres(Mode mode) {
        bouncer = PgBouncer.before(server, mode);
    }

    @Override
    public int port() {
        return bouncer.port();
    }

    @Override
    public String uri() {
        return server.uri();
    }

    @Override
    public void pause() {
        server.pause();
    }

    @Override
    public void resume() {
        server.resume();
    }

    @Override
    public void kill() {
        server.kill();
    }

    @Override
    public void startAgain() {
        server.startAgain();
    }

    @Override
    public void close() {
        bouncer.close();
        server.close();
    }
}
