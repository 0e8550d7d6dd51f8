package dev.bellwether.spring;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.BindHandler;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.handler.NoUnboundElementsBindHandler;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;

/**
 * What {@code docs/spring.md} says of properties and artifacts is so. Its Java is held against the example by another
 * test.
 */
class GuideTest {
    private static final Path ROOT = Path.of("..", "..");
    private static final Pattern BLOCK = Pattern.compile("(?ms)^```properties\\n(.*?)^```$");
    private static final Pattern KEY = Pattern.compile("`bellwether\\.([a-z.-]+[a-z])(?:\\.\\*|=[^`]*)?`");
    /** In the row of a table, further keys of the same parent follow the first. */
    private static final Pattern FURTHER = Pattern.compile("`bellwether\\.([a-z]+)\\.[a-z-]+`, `\\.([a-z-]+)`");

    private static final Pattern ELECTION =
            Pattern.compile("(?s)`bellwether\\.elections\\.NAME\\.\\*`.*?sets (.*?),\\s+as\\s");
    private static final Pattern NAME = Pattern.compile("`([a-z-]+)`");
    private static final Pattern VERSION = Pattern.compile("<version>([^<$]+)</version>");
    private static final Pattern ARTIFACT = Pattern.compile("\\bbellwether-[a-z-]*[a-z]\\b");

    private final String guide;

    GuideTest() throws IOException {
        guide = Files.readString(ROOT.resolve("docs").resolve("spring.md"));
    }

    @Test
    void everyPropertyOfTheLibraryIsInTheGuideAndNoOther() throws IOException {
        var told = new TreeSet<String>();
        KEY.matcher(guide).results().forEach(key -> told.add("bellwether." + key.group(1)));
        FURTHER.matcher(guide).results().forEach(key -> told.add("bellwether." + key.group(1) + '.' + key.group(2)));
        assertThat(told).contains("bellwether.metadata", "bellwether.sql.create-table");
        assertThat(guide).contains("`bellwether.elections.NAME.*`", "`bellwether.locks.NAME.*`");
        told.addAll(List.of("bellwether.elections", "bellwether.locks"));
        assertThat(told).containsExactlyInAnyOrderElementsOf(known());
    }

    @Test
    void everySettingOfAnElectionIsInTheGuideAndNoOther() {
        var list = ELECTION.matcher(guide).results().findFirst().orElseThrow().group(1);
        assertThat(NAME.matcher(list).results().map(found -> found.group(1)))
                .containsExactlyInAnyOrderElementsOf(Stream.of(
                                BellwetherProperties.Seat.class, BellwetherProperties.Election.class)
                        .flatMap(type -> Stream.of(type.getDeclaredFields()))
                        .filter(field -> !field.isSynthetic())
                        .map(field ->
                                field.getName().replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT))
                        .toList());
    }

    /** The examples are run by their own tests. */
    @Test
    void thePropertiesOfTheGuideBindAndAreThoseOfAnExample() throws IOException {
        var run = example("spring-boot");
        var runs = List.of(run, example("spring-outbox"));
        var blocks = BLOCK.matcher(guide)
                .results()
                .map(block -> parse(block.group(1)))
                .toList();
        assertThat(blocks).hasSizeGreaterThan(2);
        assertThat(blocks)
                .allSatisfy(block ->
                        assertThat(runs).anySatisfy(one -> assertThat(one).containsAllEntriesOf(block)));
        var bound = new Binder(new MapConfigurationPropertySource(run))
                .bind(
                        "bellwether",
                        Bindable.of(BellwetherProperties.class),
                        new NoUnboundElementsBindHandler(BindHandler.DEFAULT));
        assertThat(bound.get().getElections()).containsOnlyKeys("billing");
    }

    @Test
    void theArtifactsOfTheGuideAreInTheBom() throws IOException {
        var bom = ARTIFACT.matcher(Files.readString(ROOT.resolve("bom/pom.xml")))
                .results()
                .map(found -> found.group())
                .collect(Collectors.toSet());
        var told = ARTIFACT.matcher(guide).results().map(found -> found.group()).toList();
        assertThat(told).contains("bellwether-sql").isSubsetOf(bom);
    }

    @Test
    void theGuideImportsTheBomOfThisVersion() throws IOException {
        var version = VERSION.matcher(Files.readString(ROOT.resolve("bom/pom.xml")));
        assertThat(version.find()).isTrue();
        assertThat(VERSION.matcher(guide).results().map(found -> found.group(1)))
                .containsExactly(version.group(1));
    }

    private static Map<String, String> example(String name) throws IOException {
        return parse(Files.readString(ROOT.resolve("examples/" + name + "/src/main/resources/application.properties")));
    }

    private static Set<String> known() throws IOException {
        try (var metadata =
                BellwetherProperties.class.getResourceAsStream("/META-INF/spring-configuration-metadata.json")) {
            var names = new TreeSet<String>();
            for (var property : new ObjectMapper().readTree(metadata).get("properties")) {
                names.add(property.get("name").asText());
            }
            names.removeIf(name -> !name.startsWith("bellwether.")); // the endpoint's own, which Spring makes
            return names;
        }
    }

    private static Map<String, String> parse(String text) {
        var properties = new Properties();
        try {
            properties.load(new StringReader(text));
        } catch (IOException e) {
            throw new AssertionError(text, e);
        }
        var map = new TreeMap<String, String>();
        properties.stringPropertyNames().forEach(name -> map.put(name, properties.getProperty(name)));
        return map;
    }
}
