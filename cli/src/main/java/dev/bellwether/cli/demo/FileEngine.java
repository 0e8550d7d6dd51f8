package dev.bellwether.cli.demo;

import dev.bellwether.testkit.FaultProxy;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** An SQLite file: no server, and no network that could be cut. */
final class FileEngine implements Engine {
    private static final int PLACES = 6;

    private final String uri;

    FileEngine(Path folder) {
        uri = "jdbc:sqlite:" + folder.resolve("elections.db");
    }

    @Override
    public String describe() {
        return "an SQLite file";
    }

    @Override
    public int places() {
        return PLACES;
    }

    @Override
    public String uri(int place) {
        return uri;
    }

    @Override
    public String shownUri() {
        return uri;
    }

    @Override
    public List<FaultProxy> links(int place) {
        return List.of();
    }

    @Override
    public Optional<Server> server() {
        return Optional.empty();
    }

    @Override
    public void close() {}
}
