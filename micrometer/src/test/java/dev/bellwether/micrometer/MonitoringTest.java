package dev.bellwether.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.bellwether.Cause;
import dev.bellwether.Elections;
import dev.bellwether.Metrics;
import dev.bellwether.outbox.OutboxMeters;
import dev.bellwether.outbox.OutboxRelay;
import dev.bellwether.outbox.RelayConfig;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.yaml.snakeyaml.Yaml;

/** The dashboard, the alerts and the page about meters tell of metrics that there are, by labels that they have. */
class MonitoringTest {
    private static final Path DOCS = Path.of("..", "docs");
    private static final Pattern METRIC = Pattern.compile("\\bbellwether_[a-z_]+\\b");
    private static final Pattern SELECTOR = Pattern.compile("\\b(bellwether_[a-z_]+)\\{([^}]*)}");
    private static final Pattern MATCHER = Pattern.compile("([a-z]+)(=~|=|!~|!=)\"((?:[^\"\\\\]|\\\\.)*)\"");
    private static final Pattern SAMPLE = Pattern.compile("(?m)^(bellwether_[a-z_]+)\\{([^}]*)}");
    /** Labels that whoever scrapes adds. */
    private static final Set<String> FOREIGN = Set.of("job", "instance", "namespace");

    private static final Pattern GROUPED = Pattern.compile("\\b(?:by|on) \\(([^)]*)\\)");

    private static final Map<String, Set<String>> SCRAPED = scrape();

    @ParameterizedTest
    @ValueSource(strings = {"grafana.json", "grafana-outbox.json"})
    void theDashboardUsesMetricsThatExist(String file) throws IOException {
        var dashboard = new ObjectMapper()
                .readTree(Files.readString(DOCS.resolve("monitoring").resolve(file)));
        var expressions = new ArrayList<String>();
        collect(dashboard, "expr", expressions);
        collect(dashboard, "query", expressions);
        assertThat(expressions).hasSizeGreaterThan(8);
        assertThat(wrong(expressions)).isEmpty();
    }

    @Test
    void theAlertsUseMetricsThatExist() throws IOException {
        var rules = alerts();
        assertThat(rules).hasSizeGreaterThan(12);
        assertThat(wrong(rules.stream().map(rule -> text(rule, "expr")).toList()))
                .isEmpty();
    }

    /** One Prometheus may scrape two installations whose elections have the same names. */
    @ParameterizedTest
    @ValueSource(strings = {"grafana.json", "grafana-outbox.json", "alerts.yaml", "alerts-per-election.yaml"})
    void whatRunsUnderTwoJobsOrInTwoNamespacesIsNotAddedUp(String file) throws IOException {
        var text = Files.readString(DOCS.resolve("monitoring").resolve(file));
        var expressions = new ArrayList<String>();
        if (file.endsWith(".json")) {
            collect(new ObjectMapper().readTree(text), "expr", expressions);
        } else {
            alerts(file).forEach(rule -> expressions.add(text(rule, "expr")));
        }
        assertThat(expressions).isNotEmpty().allSatisfy(expression -> {
            assertThat(GROUPED.matcher(expression).results().map(found -> found.group(1)))
                    .allSatisfy(labels -> assertThat(labels).startsWith("job, namespace, "));
            assertThat(expression).doesNotMatch("(?s).*\\b(?:sum|min|max|count|avg)\\s*\\(.*");
        });
    }

    @Test
    void thereIsAnAlertOfAnOutageAndOneOfAnElectionThatIsGone() throws IOException {
        assertThat(alerts().stream().map(rule -> text(rule, "expr")))
                .anyMatch(expression -> expression.contains("bellwether_outages"));
        assertThat(alerts("alerts-per-election.yaml").stream().map(rule -> text(rule, "expr")))
                .anyMatch(expression -> expression.contains("absent_over_time"));
    }

    @Test
    void everyAlertSaysWhatIsWrongAndWhatToDo() throws IOException {
        assertThat(alerts()).allSatisfy(rule -> {
            assertThat(text(rule, "alert")).startsWith("Bellwether");
            var annotations = new Yaml().dump(rule.get("annotations"));
            assertThat(annotations).contains("summary:", "description:");
        });
    }

    @Test
    void theAlertOnALossKnowsEveryCauseThatIsOne() throws IOException {
        var causes = Stream.of(Cause.values())
                .filter(Cause::isLoss)
                .map(cause -> cause.name().toLowerCase(Locale.ROOT))
                .collect(Collectors.joining("|"));
        assertThat(alerts())
                .filteredOn(rule -> text(rule, "alert").equals("BellwetherLeadershipLost"))
                .singleElement()
                .satisfies(rule -> assertThat(text(rule, "expr")).contains("{cause=~\"" + causes + "\"}"));
    }

    @Test
    void thePageListsEveryMeterAndNoOther() throws IOException {
        var listed = Pattern.compile("(?m)^\\| `(bellwether[a-z.]+)` \\|")
                .matcher(Files.readString(DOCS.resolve("metrics.md")))
                .results()
                .map(found -> found.group(1))
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(listed)
                .containsExactlyInAnyOrder(
                        BellwetherMeters.ATTEMPTS,
                        BellwetherMeters.CALLBACK_DELAY,
                        BellwetherMeters.CALLBACK_FAILURES,
                        BellwetherMeters.LEADING,
                        BellwetherMeters.OUTAGES,
                        BellwetherMeters.OVERRUNS,
                        BellwetherMeters.PROOF_AGE,
                        BellwetherMeters.STALLS,
                        BellwetherMeters.TERM,
                        BellwetherMeters.TERMS_BEGUN,
                        BellwetherMeters.TOKEN,
                        OutboxMeters.BACKLOG,
                        OutboxMeters.BLOCKED,
                        OutboxMeters.BLOCKED_RECORDS,
                        OutboxMeters.IN_FLIGHT,
                        OutboxMeters.LAG,
                        OutboxMeters.LEADING,
                        OutboxMeters.OLDEST_AGE,
                        OutboxMeters.PARKED,
                        OutboxMeters.PARKED_WAITING,
                        OutboxMeters.PUBLISHED,
                        OutboxMeters.RATE,
                        OutboxMeters.REWINDS,
                        OutboxMeters.SILENT,
                        OutboxMeters.STRAYS,
                        OutboxMeters.TRANSACTIONS,
                        OutboxMeters.VACANT);
        assertThat(SCRAPED.keySet().stream()
                        .map(name -> name.replaceAll("(_seconds)?(_count|_sum|_max|_total)?$", ""))
                        .collect(Collectors.toSet()))
                .isEqualTo(listed.stream().map(name -> name.replace('.', '_')).collect(Collectors.toSet()));
    }

    @Test
    void aLockThatNobodyHoldsOrThatIsTakenOftenRaisesNoAlert() throws IOException {
        var rules = alerts("alerts.yaml").stream()
                .filter(rule -> List.of("BellwetherNobodyLeads", "BellwetherSeatChangesOften")
                        .contains(text(rule, "alert")))
                .map(rule -> text(rule, "expr"));
        assertThat(rules).hasSize(2).allSatisfy(expression -> {
            var leftOut = Pattern.compile("election!~\"([^\"]*)\"").matcher(expression);
            assertThat(leftOut.find()).as(expression).isTrue();
            var pattern = leftOut.group(1).replace("\\\\", "\\");
            assertThat("report()").matches(pattern);
            assertThat("report").doesNotMatch(pattern);
        });
    }

    @Test
    void aNameOrLabelThatDoesNotExistIsFound() {
        assertThat(wrong(List.of("sum(bellwether_leaders)"))).hasSize(1);
        assertThat(wrong(List.of("bellwether_leading{candidate=\"x\"}"))).hasSize(1);
        assertThat(wrong(List.of("bellwether_outbox_backlog{shard=\"0\"}"))).hasSize(1);
        assertThat(wrong(List.of("bellwether_outbox_vacant{shard=\"0\"}"))).isEmpty();
        assertThat(wrong(List.of("rate(bellwether_attempts_seconds_count{outcome=\"win\"}[5m])")))
                .hasSize(1);
        assertThat(wrong(List.of("rate(bellwether_attempts_seconds_count{outcome=~\"won|lost\"}[5m])")))
                .isEmpty();
    }

    /** Returns what expressions use that there is not. */
    private List<String> wrong(List<String> expressions) {
        var wrong = new ArrayList<String>();
        for (var expression : expressions) {
            METRIC.matcher(expression)
                    .results()
                    .map(found -> found.group())
                    .filter(name -> !SCRAPED.containsKey(name))
                    .forEach(name -> wrong.add(name + " does not exist, in " + expression));
            SELECTOR.matcher(expression).results().forEach(selector -> {
                var labels = SCRAPED.getOrDefault(selector.group(1), Set.of());
                MATCHER.matcher(selector.group(2)).results().forEach(matcher -> {
                    var label = matcher.group(1);
                    if (!FOREIGN.contains(label) && labels.stream().noneMatch(one -> one.startsWith(label + "="))) {
                        wrong.add(selector.group(1) + " has no label " + label + ", in " + expression);
                    } else if (label.equals("outcome") || label.equals("cause")) {
                        for (var value : List.of(matcher.group(3).split("\\|", -1))) {
                            if (!labels.contains(label + "=" + value)) {
                                wrong.add("no " + label + " is " + value + ", in " + expression);
                            }
                        }
                    }
                });
            });
        }
        return wrong;
    }

    private static List<Map<?, ?>> alerts() throws IOException {
        var all = new ArrayList<>(alerts("alerts.yaml"));
        all.addAll(alerts("alerts-per-election.yaml"));
        return all;
    }

    private static List<Map<?, ?>> alerts(String file) throws IOException {
        Map<String, List<Map<String, List<Map<?, ?>>>>> rules =
                new Yaml().load(Files.readString(DOCS.resolve("monitoring").resolve(file)));
        return rules.getOrDefault("groups", List.of()).stream()
                .flatMap(group -> group.getOrDefault("rules", List.of()).stream())
                .toList();
    }

    private static String text(Map<?, ?> rule, String field) {
        return String.valueOf(rule.get(field));
    }

    private static void collect(JsonNode node, String field, List<String> into) {
        for (var child : node) {
            collect(child, field, into);
        }
        if (node.isObject() && node.path(field).isTextual()) {
            into.add(node.path(field).asText());
        }
    }

    private static DataSource unreachable() {
        return (DataSource) Proxy.newProxyInstance(
                MonitoringTest.class.getClassLoader(),
                new Class<?>[] {DataSource.class},
                (proxy, method, arguments) -> {
                    throw new SQLException("there is no database");
                });
    }

    /** Returns the labels, as {@code name=value}, of every series that Prometheus sees. */
    private static Map<String, Set<String>> scrape() {
        var registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        var meters = new BellwetherMeters(registry);
        meters.termBegan("billing", "one", 1);
        meters.termEnded("billing", "one", Cause.RESIGNED, Duration.ofSeconds(1));
        meters.attempted("billing", "one", Metrics.Attempt.WON, Duration.ofMillis(1));
        meters.callbackFailed("billing", "one", new IllegalStateException("planted"));
        meters.stalled(Duration.ofSeconds(1));
        String text;
        try (var elections = Elections.connect("memory:monitoring");
                // who leads is another, so that this relay stands by and wants no brokers
                var leader = elections.stand("outbox.orders.0");
                var relay = OutboxRelay.start(
                        unreachable(),
                        RelayConfig.named("orders")
                                .producer(Map.of("bootstrap.servers", "127.0.0.1:1"))
                                .build(),
                        elections)) {
            new OutboxMeters(relay).bindTo(registry);
            text = registry.scrape();
            assertThat(leader.candidate()).isNotEmpty();
        }
        Map<String, Set<String>> series = SAMPLE.matcher(text)
                .results()
                .collect(Collectors.groupingBy(
                        sample -> sample.group(1),
                        Collectors.flatMapping(
                                sample -> List.of(sample.group(2).split(",", -1)).stream()
                                        .map(label -> label.replace("\"", "")),
                                Collectors.toCollection(HashSet::new))));
        Pattern.compile("(?m)^(bellwether_[a-z_]+) ")
                .matcher(text)
                .results()
                .forEach(plain -> series.computeIfAbsent(plain.group(1), name -> new HashSet<>()));
        return series;
    }
}
