package dev.bellwether.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.fixtures.Sql;
import dev.bellwether.outbox.Message;
import dev.bellwether.outbox.Outbox;
import dev.bellwether.outbox.OutboxSchema;
import dev.bellwether.outbox.OutboxTable;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import java.io.StringWriter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The page of an outbox in a real browser, over a real PostgreSQL. */
@Timeout(180)
class OutboxPageTest {
    private static final Pattern URL = Pattern.compile("http://[^ \n]+");
    private static final String DB = PostgresServer.shared().uri();

    @TempDir
    static Path folder;

    private static Browser browser;
    private static int serial;

    private final String table = "page" + ++serial;
    private final StringWriter told = new StringWriter();
    private final List<Thread> consoles = new ArrayList<>();

    @BeforeAll
    static void start() throws Exception {
        browser = Browser.start(folder);
    }

    @AfterAll
    static void end() {
        browser.close();
    }

    @BeforeEach
    void make() throws SQLException {
        try (var connection = DriverManager.getConnection(DB)) {
            OutboxSchema.create(connection, OutboxTable.named(table));
        }
    }

    @AfterEach
    void close() throws InterruptedException {
        for (var console : consoles) {
            console.interrupt();
            console.join();
        }
    }

    @Test
    void pageShowsWhatWaitsWhoPublishesAndWhy() throws Exception {
        shards();
        parked(7, "orders", "RecordTooLargeException: The message is 1048777 bytes when serialized");
        execute("INSERT INTO " + table + "_blocked VALUES (1, 4, 12, 'payments', 'TOPIC', now() - interval '3 min',"
                + " 'topic payments does not exist')");
        stash(40);
        execute("UPDATE " + table + " SET created = created - interval '95 s'");
        browser.openNext(console());
        browser.await("document.getElementById('outbox-backlog')?.textContent === '40'");
        browser.await("document.getElementById('outbox-oldest').textContent.startsWith('1 min')");
        browser.await("document.getElementById('outbox-parked').textContent === '1'");
        browser.await("document.getElementById('outbox-blocked').textContent === '1'");
        var page = browser.evaluate("document.querySelector('main').innerText").asText();
        assertThat(page)
                .contains("relay-a", "nobody; last was relay-b", "nobody publishes shard 1")
                .contains("topic payments does not exist", "its topic")
                .contains("RecordTooLargeException");
        stash(60);
        browser.await("document.getElementById('outbox-backlog').textContent === '100'");
        for (var more = 1; more <= 8; more++) { // a line to look at
            stash(more * 25);
            var total = number("SELECT count(*) FROM " + table);
            browser.await("document.getElementById('outbox-backlog').textContent.replace(',', '') === '" + total + "'");
        }
        assertThat(painted(".chart")).as("pixels that are drawn").isGreaterThan(500);
        browser.lookAt("outbox", true, 1280, 390);
        assertThat(browser.complaints()).isEmpty();

        execute("UPDATE " + table + "_relay SET seen = clock_timestamp() WHERE shard = 1");
        browser.await("!document.querySelector('main').innerText.includes('nobody')");
    }

    @Test
    void parkedRecordsAreRequeuedByIdAndByTopic() throws Exception {
        shards();
        for (var id = 1; id <= 5; id++) {
            parked(id, id == 1 ? "payments" : "orders", "too large");
        }
        browser.openNext(console());
        browser.await("document.querySelector('button[data-id=\"1\"]')");
        browser.evaluate("document.querySelector('button[data-id=\"1\"]').click()");
        browser.await("document.getElementById('ask').open");
        browser.evaluate("document.getElementById('ask-no').click()");
        browser.await("!document.getElementById('ask').open");
        assertThat(number("SELECT count(*) FROM " + table)).isZero();

        browser.evaluate("document.querySelector('button[data-id=\"1\"]').click()");
        browser.evaluate("document.getElementById('ask-yes').click()");
        browser.await("!document.querySelector('button[data-id=\"1\"]')");
        assertThat(number("SELECT count(*) FROM " + table + " WHERE topic = 'payments'"))
                .isOne();

        browser.evaluate("document.querySelector('button[data-topic=\"orders\"]').click()");
        browser.evaluate("document.getElementById('ask-yes').click()");
        browser.await("document.getElementById('outbox-parked').textContent === '0'");
        browser.await("!document.querySelector('button[data-topic]')");
        assertThat(number("SELECT count(*) FROM " + table)).isEqualTo(5);
        assertThat(browser.complaints()).isEmpty();
    }

    @Test
    void whoHasNoTokenMayLookAndNotRequeue() throws Exception {
        shards();
        parked(1, "orders", "too large");
        var url = console();
        var answer = HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(URI.create(url.substring(0, url.indexOf('#')) + "order"))
                                .POST(HttpRequest.BodyPublishers.ofString("action=requeue&id=1"))
                                .build(),
                        HttpResponse.BodyHandlers.ofString());
        assertThat(answer.statusCode()).isEqualTo(403);
        browser.openNext(console("--read-only"));
        browser.await("document.querySelector('main')?.innerText.includes('too large')");
        assertThat(browser.evaluate("document.querySelectorAll('main button').length")
                        .asInt())
                .isZero();
        assertThat(number("SELECT count(*) FROM " + table)).isZero();
    }

    @Test
    void whileTheDatabaseDoesNotAnswerThePageSaysSinceWhen() throws Exception {
        shards();
        try (var link = FaultProxy.to("127.0.0.1", PostgresServer.shared().port())) {
            browser.openNext(consoleOn(PostgresServer.uri(link.port()), "--timeout", "1s"));
            browser.await("document.getElementById('outbox-backlog')?.textContent === '0'");
            link.refuse();
            link.reset();
            browser.await("document.querySelector('main .notice').textContent.includes('You see how things stood at')");
            browser.await("document.getElementById('live').textContent === 'the database does not answer'");
            link.heal();
            browser.await("document.querySelector('main .notice').hidden");
            browser.await("document.getElementById('live').textContent === 'live'");
        }
    }

    @Test
    void electionsAndOutboxAreTwoViewsOfOnePage() throws Exception {
        shards();
        var backend = "memory:" + table;
        try (var elections = Elections.connect(backend)) {
            var ann = elections.stand(
                    "billing", CandidacyConfig.builder().candidate("ann").build());
            assertThat(ann.await(Duration.ofSeconds(60))).isPresent();
            browser.openNext(console("--on", backend));
            browser.await("document.querySelectorAll('#views a').length === 2");
            browser.await("document.querySelector('button[data-name=\"billing\"]')?.offsetParent");
            browser.evaluate("document.querySelector('#views a[href=\"#outbox\"]').click()");
            browser.await("document.getElementById('outbox-backlog').offsetParent");
            assertThat(browser.evaluate(
                                    "document.querySelector('button[data-name=\"billing\"]')?.offsetParent === null")
                            .asBoolean())
                    .isTrue();
            browser.lookAt("outbox-beside", true, 1280, 390);
            browser.evaluate("document.querySelector('#views a[href=\"#console\"]').click()");
            browser.await("document.querySelector('button[data-name=\"billing\"]')?.offsetParent");
            browser.evaluate("document.querySelector('button[data-name=\"billing\"]').click()");
            browser.await("document.getElementById('near-state')?.textContent.startsWith('ann leads')");
            assertThat(browser.complaints()).isEmpty();
        }
    }

    @Test
    void whatIsNotThereIsSaidBeforeThePageIsServed() {
        var absent = Spoken.of(java.util.Map.of(), "console", "--outbox", DB, "--table", "absent", "--for", "1s");
        assertThat(absent.code()).isEqualTo(ExitCode.FAILED);
        assertThat(absent.err()).contains("there is no table absent");
        var odd = Spoken.of(java.util.Map.of(), "console", "--outbox", DB, "--table", "a b", "--for", "1s");
        var status = Spoken.of(java.util.Map.of(), "outbox", "status", "--db", DB, "--table", "a b");
        assertThat(odd).as("as the other verbs say it").isEqualTo(status);
        assertThat(odd.code()).isEqualTo(ExitCode.USAGE);
        var nowhere = Spoken.of(java.util.Map.of(), "console", "--table", "orders");
        assertThat(nowhere.code()).isEqualTo(ExitCode.USAGE);
        assertThat(nowhere.err()).contains("--outbox");
        assertThat(Spoken.of(
                                java.util.Map.of(),
                                "console",
                                "--outbox",
                                "jdbc:postgresql://127.0.0.1:1/x",
                                "--for",
                                "1s")
                        .code())
                .isEqualTo(ExitCode.UNAVAILABLE);
    }

    /** Two shards: one is published, and of the other nobody has been heard for long. */
    private void shards() throws SQLException {
        execute("INSERT INTO " + table + "_relay (shard, shards, epoch, low, sent, rate, relay, since, seen) VALUES"
                + " (-1, 2, 0, 0, 0, 0, 'orders', now(), now()),"
                + " (0, 2, 3, 0, 1234567, 842, 'relay-a', now() - interval '5 h', now() + interval '1 h'),"
                + " (1, 2, 4, 0, 7654321, 17, 'relay-b', now() - interval '2 h', now() - interval '4 min')");
    }

    private void parked(long id, String topic, String reason) throws SQLException {
        execute("INSERT INTO " + table + "_parked (id, event_id, created, topic, record_value, parked, reason) VALUES ("
                + id + ", gen_random_uuid(), now(), '" + topic + "', 'x', now(), '" + reason + "')");
    }

    private void stash(int count) throws SQLException {
        try (var connection = DriverManager.getConnection(DB)) {
            var messages = new ArrayList<Message>();
            for (var i = 0; i < count; i++) {
                messages.add(Message.of("orders", "k", "v"));
            }
            Outbox.of(OutboxTable.named(table)).stash(connection, messages);
        }
    }

    private static void execute(String sql) throws SQLException {
        Sql.execute(DB, sql);
    }

    private static long number(String sql) throws SQLException {
        return Sql.number(DB, sql);
    }

    private String console(String... more) {
        return consoleOn(DB, more);
    }

    /** Starts a console and returns its address. */
    private String consoleOn(String database, String... more) {
        var line = new ArrayList<>(List.of("console", "--outbox", database, "--table", table, "--refresh", "100ms"));
        line.addAll(List.of(more));
        var from = told.toString().length();
        var console = Spoken.inBackground(told, told, line.toArray(String[]::new));
        consoles.add(console);
        return Eventually.eventually("it tells its address", Duration.ofSeconds(60), () -> {
            assertThat(console.isAlive()).as(told.toString()).isTrue();
            var said = told.toString().substring(from);
            var matcher = URL.matcher(said);
            return matcher.find() && said.endsWith("\n")
                    ? java.util.Optional.of(matcher.group())
                    : java.util.Optional.<String>empty();
        });
    }

    private static int painted(String canvas) throws Exception {
        return browser.evaluate(
                        "(canvas => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data"
                                + ".filter((byte, i) => i % 4 === 3 && byte > 0).length)(document.querySelector('"
                                + canvas + "'))")
                .asInt();
    }
}
