package dev.bellwether.cli.run;

import dev.bellwether.CandidacyConfig;
import java.time.Duration;
import java.util.Optional;
import picocli.CommandLine.Option;

/** How to stand: the options of the verbs that do. */
final class StandOptions {
    @Option(
            names = "--access-patience",
            paramLabel = "TIME",
            description = "Keep standing this long while the backend refuses access, then fail. Default: 5m.")
    private Optional<Duration> accessPatience = Optional.empty();

    @Option(
            names = "--backoff",
            paramLabel = "TIME",
            description = "Ask for a held seat less and less often, down to once in this time. Default: once the"
                    + " lease has run out.")
    private Optional<Duration> backoff = Optional.empty();

    @Option(
            names = "--id",
            paramLabel = "ID",
            description = "Stand under this id. Default: host, process id and time; of serve, the name of the host.")
    private Optional<String> id = Optional.empty();

    void set(CandidacyConfig.Builder settings) {
        accessPatience.ifPresent(settings::accessPatience);
        backoff.ifPresent(settings::standbyBackoff);
        id.ifPresent(settings::candidate);
    }
}
