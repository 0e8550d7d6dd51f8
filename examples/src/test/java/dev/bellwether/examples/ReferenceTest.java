package dev.bellwether.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.LockConfig;
import dev.bellwether.RosterConfig;
import dev.bellwether.outbox.RelayConfig;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.ElectionsProvider;
import dev.bellwether.spi.Finding;
import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.math.BigDecimal;
import java.math.MathContext;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The reference lists what the code has, and nothing else: settings, URIs, exceptions, messages, loggers. */
class ReferenceTest {
    private static final Pattern CODE = Pattern.compile("`([^`]+)`");
    private static final Pattern TABLE = Pattern.compile("(?m)^\\| ([^|\\n]+) \\|.*\\n\\|[-:| ]+\\n((?:\\|.*\\n)+)");
    private static final Pattern KNOWN = Pattern.compile(": known are (.*)");
    private static final Pattern EXCEPTION = Pattern.compile("public (?:final )?class (\\w+) extends \\w*Exception\\b");
    private static final Pattern EXAMPLE = Pattern.compile("(?s)<pre>\\{@code\\n(.*?)\\n *\\* }</pre>");
    /** A finding of the doctor that is made, not the declaration of what makes one, nor a line of the log. */
    private static final Pattern FINDING = Pattern.compile(
            "(?<!log\\.)(?<!Finding )\\b(ok|warning|error|atMost)\\(\\s*+(?:\"([^\"]*)\"|([A-Z_]+)|([^,)]*+))[,)]");

    private static final Pattern LOGGER = Pattern.compile("(?:getLogger|new RefusedWatch)\\(([\\w.]+)\\.class[,)]");

    @Test
    void everySettingAndCauseIsOnItsPage() throws IOException {
        var page = Documents.page("settings.md");
        var names = Stream.concat(
                Stream.of(
                                CandidacyConfig.Builder.class,
                                ElectionsConfig.Builder.class,
                                LockConfig.Builder.class,
                                RosterConfig.Builder.class)
                        .flatMap(builder -> Stream.of(builder.getDeclaredMethods()))
                        .filter(method -> Modifier.isPublic(method.getModifiers()))
                        .map(Method::getName)
                        .filter(name -> !name.equals("build")),
                Stream.of(Cause.values()).map(Cause::name));
        assertThat(names.map(name -> "\n| `" + name + "` |")).isNotEmpty().allMatch(page::contains);
    }

    @Test
    void everyCauseIsOnThePagesOfMetersAndOfTheLog() throws IOException {
        var meters = Documents.page("metrics.md");
        var log = Documents.page("logging.md");
        assertThat(Cause.values()).allSatisfy(cause -> {
            assertThat(meters).contains('`' + cause.name().toLowerCase(Locale.ROOT) + '`');
            assertThat(log).contains('`' + cause.name() + '`');
        });
    }

    @Test
    void everySettingOfTheOutboxIsOnItsPage() throws IOException {
        var page = Documents.page("outbox.md");
        assertThat(Stream.of(RelayConfig.Builder.class.getDeclaredMethods())
                        .filter(method -> Modifier.isPublic(method.getModifiers()))
                        .map(Method::getName)
                        .filter(name -> !name.equals("build")))
                .isNotEmpty()
                .allMatch(name -> page.contains('`' + name + '`'));
    }

    @ParameterizedTest
    @CsvSource({
        "sql.md, jdbc:h2:mem:x, bellwether.x",
        "zookeeper.md, zk://host:1, x",
        "nats.md, nats://host:1, x",
        "etcd.md, etcd://host:1, x",
        "consul.md, consul://host:1, x",
        "kubernetes.md, k8s:x, x",
        "redis.md, redis://host:1, x",
        "dynamodb.md, dynamodb://eu-west-1/x, x"
    })
    void eachParameterOfAUriIsOnThePageOfItsBackendAndNoOther(String page, String uri, String unknown)
            throws IOException {
        var refused = catchThrowableOfType(
                ElectionException.class,
                () -> ConnectUri.parse(uri + '?' + unknown + "=1").check());
        var known = KNOWN.matcher(refused.getMessage()).results().findFirst().orElseThrow();
        assertThat(firstColumn(page, "parameter"))
                .containsExactlyInAnyOrder(known.group(1).split(", ", -1));
    }

    /** What is not ours goes to Kafka's clients, so that nothing here is unknown. */
    @Test
    void eachParameterOfOursOnKafkaIsOnItsPageAndNoOther() throws IOException {
        var source = Files.readString(Documents.ROOT.resolve("kafka/src/main/java/dev/bellwether/kafka/Settings.java"));
        var own = Pattern.compile("(?s) OWN =\\s+List.of\\(([^)]*)\\)").matcher(source);
        assertThat(own.find()).isTrue();
        var names = Arrays.stream(own.group(1).split(",\\s*", -1)).map(constant -> valueOf(constant.strip(), source));
        assertThat(firstColumn("kafka.md", "parameter")).containsExactlyInAnyOrderElementsOf(names.toList());
    }

    @Test
    void everySchemeIsOnThePageOfUris() throws IOException {
        var shown = CODE.matcher(String.join("\n", rows("uris.md", "infrastructure")))
                .results()
                .map(found -> found.group(1).replaceFirst(":.*", ""))
                .collect(Collectors.toSet());
        var schemes = ServiceLoader.load(ElectionsProvider.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(provider -> !provider.getClass().getPackageName().contains("examples"))
                .flatMap(provider -> provider.schemes().stream())
                .toList();
        assertThat(schemes).contains("k8s", "jdbc");
        assertThat(shown).containsAll(schemes);
    }

    @Test
    void everyExceptionIsOnThePageOfErrorsAndNoOther() throws IOException {
        var exceptions = new ArrayList<String>();
        for (var source : Documents.mainSources()) {
            if (!source.toString().contains("/cli/")) {
                EXCEPTION.matcher(Files.readString(source)).results().forEach(found -> exceptions.add(found.group(1)));
            }
        }
        assertThat(firstColumn("errors.md", "exception")).containsExactlyInAnyOrderElementsOf(exceptions);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "errors",
                "logging",
                "sql",
                "kafka",
                "zookeeper",
                "nats",
                "etcd",
                "consul",
                "kubernetes",
                "redis",
                "dynamodb"
            })
    void eachMessageThatThePagesExplainIsInTheCode(String page) throws IOException {
        var said = new ArrayList<String>();
        for (var source : Documents.mainSources()) {
            var path = source.toString();
            if (path.contains("/core/") || path.contains("/http/") || path.contains("/" + page + "/")) {
                Documents.said(Files.readString(source)).stream()
                        .filter(text -> text.startsWith("\""))
                        .forEach(text -> said.add(text.replace("\\\"", "\"")));
            }
        }
        var explained = firstColumn(page + ".md", "it says");
        assertThat(explained).hasSizeGreaterThan(5);
        assertThat(explained).allSatisfy(message -> assertThat(said).anyMatch(text -> text.contains(message)));
    }

    @Test
    void everyLoggerIsOnThePageOfTheLogAndNoOther() throws IOException {
        var loggers = new TreeSet<String>();
        for (var source : Documents.mainSources()) {
            var text = Files.readString(source);
            if (!source.toString().contains("examples") && !source.toString().contains("fixtures")) {
                LOGGER.matcher(text).results().forEach(found -> loggers.add(nameOf(found.group(1), text)));
            }
        }
        assertThat(loggers).contains("dev.bellwether.Candidacy");
        var listed = firstColumn("logging.md", "logger").stream()
                .map(name -> name.startsWith(".") ? "dev.bellwether" + name : name)
                .toList();
        assertThat(loggers).allSatisfy(logger -> assertThat(listed).anyMatch(name -> isOrIsIn(logger, name)));
        assertThat(listed).allSatisfy(name -> assertThat(loggers).anyMatch(logger -> isOrIsIn(logger, name)));
    }

    /** By the formulas under the first table: mandate, outage, and how long the seat is empty after a crash. */
    @Test
    void theFiguresOfLeasesAreThoseOfTheRules() throws IOException {
        for (var row : rows("settings.md", "`lease`")) {
            var cells = cells(row);
            assertThat(cells.subList(1, 4))
                    .as(row)
                    .isEqualTo(figures(CandidacyConfig.builder().lease(seconds(cells.get(0)))));
        }
        for (var row : rows("settings.md", "steps of up to")) {
            var cells = cells(row);
            var builder = CandidacyConfig.builder().lease(seconds(cells.get(1))).standDownBudget(seconds(cells.get(2)));
            assertThat(cells.subList(3, 6)).as(row).isEqualTo(figures(builder));
            assertThat(seconds(cells.get(0)).multipliedBy(2)).isLessThanOrEqualTo(seconds(cells.get(2)));
        }
    }

    private static List<String> figures(CandidacyConfig.Builder builder) {
        var config = builder.build();
        var mandate = config.lease().toNanos() * (1 - config.driftBound())
                - config.standDownBudget().toNanos();
        var outage = mandate
                - config.renewInterval().toNanos()
                - Finding.Term.retry(config).length().toNanos();
        var empty = Finding.vacancies(config).get(0).sum().toNanos();
        return Stream.of(mandate, outage, (double) empty)
                .map(nanos -> new BigDecimal(nanos / 1e9)
                                .round(new MathContext(3))
                                .stripTrailingZeros()
                                .toPlainString()
                        + " s")
                .toList();
    }

    private static List<String> cells(String row) {
        return Stream.of(row.split("\\|", -1))
                .map(cell -> cell.strip().replace(" (default)", ""))
                .filter(cell -> !cell.isEmpty())
                .toList();
    }

    private static Duration seconds(String cell) {
        return Duration.ofSeconds(Long.parseLong(cell.replace(" s", "")));
    }

    @Test
    void everythingThatTheDoctorSaysSomethingAboutIsOnThePageOfTheCommandAndNothingElse() throws IOException {
        var about = new TreeSet<String>();
        for (var source : sourcesOfFindings()) {
            var text = Files.readString(source);
            FINDING.matcher(text).results().forEach(found -> about.addAll(subjects(found, text)));
        }
        assertThat(firstColumn("cli.md", "about")).containsExactlyInAnyOrderElementsOf(about);
    }

    @Test
    void everyBackendWhoseDoctorFindsErrorsHasARowOfThem() throws IOException {
        var backends = new TreeSet<String>();
        for (var source : sourcesOfFindings()) {
            if (FINDING.matcher(Files.readString(source))
                    .results()
                    .anyMatch(found -> found.group(1).equals("error"))) {
                backends.add(Documents.ROOT.relativize(source).getName(0).toString());
            }
        }
        backends.remove("cli"); // what it finds by itself is about each backend
        if (backends.remove("core")) {
            backends.add("stores of records"); // it makes elections of them
        }
        assertThat(backends).contains("sql", "etcd");
        var listed = rows("cli.md", "what it calls an error").stream()
                .map(row -> row.split("(?<!\\\\)\\|", 4)[2].toLowerCase(Locale.ROOT))
                .toList();
        assertThat(backends).allSatisfy(backend -> assertThat(listed).anyMatch(on -> on.contains(backend)));
    }

    /**
     * Returns what a finding is about: a literal, a constant, or what a method is called with whose last parameter it
     * is.
     */
    private static List<String> subjects(MatchResult finding, String source) {
        if (finding.group(2) != null) {
            return List.of(finding.group(2));
        }
        if (finding.group(3) != null) {
            return List.of(valueOf(finding.group(3), source));
        }
        var method = Pattern.compile(
                        "(\\w+)\\([^()]*\\bString " + finding.group(4).strip() + "\\)")
                .matcher(source);
        return !method.find()
                ? List.of(finding.group())
                : Pattern.compile("\\b" + method.group(1) + "\\([^()]*, ([A-Z_]+)\\)")
                        .matcher(source)
                        .results()
                        .map(call -> valueOf(call.group(1), source))
                        .toList();
    }

    /** Returns the sources that tell the doctor something. */
    private static List<Path> sourcesOfFindings() throws IOException {
        var sources = new ArrayList<Path>();
        for (var source : Documents.mainSources()) {
            var text = Files.readString(source);
            if (text.contains("import dev.bellwether.spi.Finding;") || source.endsWith("spi/Finding.java")) {
                sources.add(source);
            }
        }
        return sources;
    }

    /** Blocks of code in the Javadoc of what is published are lines of the examples, which are compiled. */
    @Test
    void codeInTheJavadocIsCompiled() throws IOException {
        var compiled = new StringBuilder();
        try (var tests = Files.walk(Path.of("src/test/java"))) {
            for (var test :
                    tests.filter(path -> path.toString().endsWith(".java")).toList()) {
                compiled.append(Files.readString(test).replaceAll("\\s+", " "));
            }
        }
        var wrong = new ArrayList<String>();
        var blocks = new ArrayList<String>();
        for (var source : Documents.mainSources()) {
            var text = Files.readString(source);
            if (source.toString().contains("examples")) {
                compiled.append(text.replaceAll("\\s+", " "));
            } else {
                EXAMPLE.matcher(text).results().forEach(found -> blocks.add(found.group(1)));
            }
        }
        for (var block : blocks) {
            if (compiled.indexOf(block.replaceAll("(?m)^ *\\* ?", " ")
                            .replaceAll("\\s+", " ")
                            .strip())
                    < 0) {
                wrong.add(block);
            }
        }
        assertThat(wrong).isEmpty();
        assertThat(blocks).hasSizeGreaterThan(15);
    }

    private static boolean isOrIsIn(String logger, String name) {
        return logger.equals(name) || logger.startsWith(name + '.');
    }

    /** Returns the full name of a class as a source calls it. */
    private static String nameOf(String type, String source) {
        if (type.startsWith("dev.")) {
            return type;
        }
        return Pattern.compile("import (dev\\.bellwether\\.[\\w.]*\\b" + type + ");")
                .matcher(source)
                .results()
                .map(found -> found.group(1))
                .findFirst()
                .orElseGet(() -> Pattern.compile("(?m)^package ([\\w.]+);")
                                .matcher(source)
                                .results()
                                .findFirst()
                                .orElseThrow()
                                .group(1)
                        + '.'
                        + type);
    }

    private static String valueOf(String constant, String source) {
        return Pattern.compile(" " + constant + " = \"([^\"]+)\"")
                .matcher(source)
                .results()
                .findFirst()
                .orElseThrow()
                .group(1);
    }

    /** Returns what is written as code in the first column of all tables of a page whose first heading is this. */
    private static Set<String> firstColumn(String page, String heading) throws IOException {
        return rows(page, heading).stream()
                .map(row -> row.split("(?<!\\\\)\\|", 3)[1])
                .flatMap(cell -> CODE.matcher(cell).results())
                .map(found -> found.group(1).replace("\\|", "|"))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static List<String> rows(String page, String heading) throws IOException {
        var rows = TABLE.matcher(Documents.page(page))
                .results()
                .filter(table -> table.group(1).equals(heading))
                .flatMap(table -> table.group(2).lines())
                .toList();
        assertThat(rows).as("%s has a table of %s", page, heading).isNotEmpty();
        return rows;
    }
}
