package dev.bellwether.cli.run;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.cli.command.BackendOptions;
import dev.bellwether.cli.command.UsageException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** How to stand with a lease that has a grace in it: the options of {@code run} and {@code serve}. */
final class LeaseOptions {
    @Mixin
    private final StandOptions standing = new StandOptions();

    @Option(
            names = "--priority",
            paramLabel = "N",
            description = "Give way to candidates of a higher priority when the seat is free. Default: 0.")
    private int priority;

    @Option(names = "--metadata", paramLabel = "KEY=VALUE", description = "Show this to observers. Repeatable.")
    private List<String> metadata = new ArrayList<>();

    /** Returns the settings of a candidacy; what is set first yields to the options. */
    CandidacyConfig settings(LeasePlan plan, Consumer<CandidacyConfig.Builder> first) {
        return BackendOptions.settings(() -> {
            var builder = CandidacyConfig.builder()
                    .lease(plan.lease())
                    .standDownBudget(plan.budget())
                    .priority(priority)
                    .metadata(metadata());
            first.accept(builder);
            standing.set(builder);
            return builder.build();
        });
    }

    /** Of one key given twice, one value would be dropped. */
    private Map<String, String> metadata() {
        var all = new LinkedHashMap<String, String>();
        for (var one : metadata) {
            var equals = one.indexOf('=');
            if (equals < 0) {
                throw new UsageException("--metadata " + one + " has no value: write --metadata KEY=VALUE");
            }
            var key = one.substring(0, equals);
            var former = all.put(key, one.substring(equals + 1));
            if (former != null) {
                throw new UsageException("--metadata names the key \"" + key + "\" twice, with \"" + former
                        + "\" and with \"" + all.get(key) + "\": give it once");
            }
        }
        return all;
    }
}
