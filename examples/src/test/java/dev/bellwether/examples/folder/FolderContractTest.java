package dev.bellwether.examples.folder;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.testkit.ElectionsContract;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Infrastructure;
import dev.bellwether.testkit.LinkedLeaseStore;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.io.TempDir;

class FolderContractTest extends ElectionsContract {
    @TempDir
    static Path folder;

    @Override
    protected Infrastructure infrastructure() {
        return new FolderInfrastructure();
    }

    private static final class FolderInfrastructure implements Infrastructure {
        private final List<LinkedLeaseStore> links = new CopyOnWriteArrayList<>();

        private static LeaseStore open() {
            return (LeaseStore) new FolderProvider().connect(ConnectUri.parse("folder:" + folder));
        }

        @Override
        public String describe() {
            return "folder";
        }

        @Override
        public Duration lease() {
            return Duration.ofSeconds(1);
        }

        @Override
        public Elections connect(ElectionsConfig config) {
            return connectLinked(config).elections();
        }

        @Override
        public Linked connectLinked(ElectionsConfig config) {
            var link = LinkedLeaseStore.to(open());
            links.add(link);
            return new Linked(Elections.over(link, config), link);
        }

        @Override
        public Map<String, Long> leftovers() {
            try (var store = open()) {
                return Map.of("elections", (long)
                        store.list().toCompletableFuture().join().size());
            }
        }

        @Override
        public Map<Capability, String> lacks() {
            return Map.of(Capability.STANDBYS, "a folder lists no standbys");
        }

        @Override
        public Optional<String> refusal(String name) {
            return name.contains("🐑🐑") ? Optional.of("use a shorter name") : Optional.empty();
        }

        @Override
        public void restartServer() {
            links.forEach(LinkedLeaseStore::refuse);
            Eventually.throughout("down for a while", lease().dividedBy(2), () -> true);
            links.forEach(LinkedLeaseStore::heal);
        }

        @Override
        public void pauseServer() {
            links.forEach(LinkedLeaseStore::cut);
        }

        @Override
        public void resumeServer() {
            links.forEach(LinkedLeaseStore::heal);
        }
    }
}
