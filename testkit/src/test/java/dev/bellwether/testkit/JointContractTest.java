package dev.bellwether.testkit;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The contract over two memory backends at once: a client that is cut off is cut off from both. */
class JointContractTest extends ElectionsContract {
    @Override
    protected Infrastructure infrastructure() {
        return new JointInfrastructure(new MemoryInfrastructure(), new MemoryInfrastructure());
    }

    /** Two infrastructures, of which a leader needs both. */
    private record JointInfrastructure(Infrastructure old, Infrastructure next) implements Infrastructure {
        @Override
        public String describe() {
            return old.describe() + " and " + next.describe() + " jointly";
        }

        @Override
        public Map<Capability, String> lacks() {
            return Map.of(
                    Capability.HAND_OVER, "two seats do not pass in one step",
                    Capability.JOINT, "joint elections are two already");
        }

        @Override
        public Duration lease() {
            return old.lease();
        }

        @Override
        public Elections connect(ElectionsConfig config) {
            return Elections.jointly(old.connect(plain(config)), next.connect(plain(config)), config);
        }

        @Override
        public Linked connectLinked(ElectionsConfig config) {
            var ofOld = old.connectLinked(plain(config));
            var ofNext = next.connectLinked(plain(config));
            return new Linked(
                    Elections.jointly(ofOld.elections(), ofNext.elections(), config),
                    Link.all(List.of(ofOld.link(), ofNext.link())));
        }

        /** Nobody stands in the elections of one alone: they have nothing to tell. */
        private static ElectionsConfig plain(ElectionsConfig config) {
            return ElectionsConfig.builder()
                    .requestTimeout(config.requestTimeout())
                    .build();
        }

        @Override
        public Map<String, Long> leftovers() {
            var all = new TreeMap<>(old.leftovers());
            next.leftovers().forEach((kind, count) -> all.merge(kind, count, Long::sum));
            return all;
        }

        @Override
        public void restartServer() {
            next.pauseServer();
            old.restartServer();
            next.resumeServer();
        }

        @Override
        public void pauseServer() {
            next.pauseServer();
            old.pauseServer();
        }

        @Override
        public void resumeServer() {
            old.resumeServer();
            next.resumeServer();
        }
    }
}
