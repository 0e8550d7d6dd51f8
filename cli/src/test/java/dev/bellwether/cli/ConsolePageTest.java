package dev.bellwether.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.cli.command.CommandEnvironment;
import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.servers.Ports;
import dev.bellwether.testkit.servers.ProcessReaper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.Reader;
import java.io.StringWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The console in a real browser, over elections of this process. */
@Timeout(180)
class ConsolePageTest {
    private static final Pattern URL = Pattern.compile("http://[^ \n]+");
    private static final Duration LEASE = Duration.ofSeconds(20);
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    static Path folder;

    private static Browser browser;
    private static int serial;

    private final String backend = "memory:console" + ++serial;
    private final Elections elections = Elections.connect(backend);
    private final StringWriter told = new StringWriter();
    private final List<Thread> consoles = new ArrayList<>();
    private final List<Process> processes = new ArrayList<>();

    @BeforeAll
    static void start() throws Exception {
        browser = Browser.start(folder);
    }

    @AfterAll
    static void end() {
        browser.close();
    }

    @AfterEach
    void close() throws InterruptedException {
        for (var console : consoles) {
            console.interrupt();
            console.join();
        }
        for (var process : processes) {
            process.destroyForcibly().waitFor();
        }
        elections.close();
    }

    @Test
    void leaderMovesOnThePageWhenItResignsAndWhenItIsOrderedTo() throws Exception {
        var ann = stand("billing", "ann");
        await(ann);
        var bob = stand("billing", "bob");
        browser.openNext(console(backend));
        browser.await(state("billing") + ".startsWith('ann, token 1')");
        assertThat(browser.complaints()).isEmpty();

        ann.close();
        browser.await(state("billing") + ".startsWith('bob, token 2')");

        stand("billing", "cyd");
        browser.evaluate(row("billing") + ".click()");
        browser.await("document.getElementById('near-state')?.textContent.startsWith('bob leads, token 2')");
        browser.await("[...document.querySelectorAll('.near td')].some(cell => cell.textContent === 'cyd')");
        browser.lookAt("console-near", false, 1280, 390);
        browser.evaluate("document.getElementById('stand-down').click()");
        browser.await("document.getElementById('ask').open");
        browser.evaluate("document.getElementById('ask-no').click()");
        browser.await("!document.getElementById('ask').open");
        assertThat(bob.isLeader()).isTrue();

        browser.evaluate("document.getElementById('stand-down').click()");
        browser.evaluate("document.getElementById('ask-yes').click()");
        browser.await(state("billing") + ".startsWith('cyd, token 3')");
        browser.await("document.getElementById('near-state').textContent.startsWith('cyd leads, token 3')");
        assertThat(browser.complaints()).isEmpty();
    }

    @Test
    void theSeatIsHandedOverToTheStandbyWhoseButtonIsPressed() throws Exception {
        var ann = stand("billing", "ann");
        await(ann);
        stand("billing", "bob");
        var cyd = stand("billing", "cyd");
        browser.openNext(console(backend));
        browser.await(state("billing") + ".startsWith('ann, token 1')");
        browser.evaluate(row("billing") + ".click()");
        var button = "[...document.querySelectorAll('.near tr')].find(row => row.textContent.startsWith('cyd'))"
                + "?.querySelector('button')";
        browser.await("Boolean(" + button + ")");
        browser.evaluate(button + ".click()");
        browser.await("document.getElementById('ask').open");
        browser.evaluate("document.getElementById('ask-yes').click()");
        browser.await(state("billing") + ".startsWith('cyd, token 2')");
        assertThat(cyd.isLeader()).isTrue();
        assertThat(browser.complaints()).isEmpty();
    }

    @Test
    void leaderMovesOnThePageThoughItIsOnAServer() throws Exception {
        try (var server = NatsServers.alone();
                var there = Elections.connect(server.uri("bucket=console"))) {
            var ann = stand(there, "billing", "ann");
            await(ann);
            browser.openNext(console(server.uri("bucket=console")));
            browser.await(state("billing") + ".startsWith('ann, token ')");
            var bob = stand(there, "billing", "bob");
            browser.evaluate(row("billing") + ".click()");
            browser.await("[...document.querySelectorAll('.near td')].some(cell => cell.textContent === 'bob')");
            browser.evaluate("document.getElementById('stand-down').click()");
            browser.evaluate("document.getElementById('ask-yes').click()");
            browser.await(state("billing") + ".startsWith('bob, token ')");
            await(bob); // the page may have heard of it first
            assertThat(browser.complaints()).isEmpty();
        }
    }

    @Test
    void electionsThatComeAndGoAreShownAndVacantOnesToldApart() throws Exception {
        await(stand("first", "ann"));
        browser.openNext(console(backend, "--refresh", "200ms"));
        browser.await(state("first") + ".startsWith('ann')");

        var late = stand("second", "bob");
        browser.await(state("second") + ".startsWith('bob')");
        late.close();
        browser.await(state("second") + " === 'nobody leads'");
        browser.evaluate("(kind => { kind.value = 'vacant'; kind.dispatchEvent(new Event('change')); })"
                + "(document.getElementById('kind'))");
        browser.await("document.querySelectorAll('.seats .row').length === 1");
        elections.election("second").delete();
        browser.await("document.querySelectorAll('.seats .row').length === 0");
    }

    @Test
    void readOnlyConsoleHasNoOrdersToGive() throws Exception {
        await(stand("billing", "ann"));
        var url = console(backend, "--read-only");
        assertThat(url).doesNotContain("token");
        browser.openNext(url);
        browser.await(state("billing") + ".startsWith('ann')");
        browser.evaluate(row("billing") + ".click()");
        browser.await("document.getElementById('near-state')");

        assertThat(browser.evaluate("document.getElementById('stand-down') === null")
                        .asBoolean())
                .isTrue();
    }

    /** What a screen does not show costs nothing: so many rows exist as are seen, however many elections there are. */
    @Test
    void twoThousandElectionsAreSearchedAndScrolledWithFewRows() throws Exception {
        var all = new ArrayList<Candidacy>();
        for (var i = 0; i < 2_000; i++) {
            all.add(stand("tenant-%04d".formatted(i), i % 3 == 0 ? "ann" : "bob"));
        }
        for (var one : all) {
            await(one);
        }
        browser.openNext(console(backend));
        browser.await("document.querySelector('.count')?.textContent === '2000 of 2000 elections, 0 vacant'");
        assertThat(browser.evaluate("document.querySelectorAll('.seats .row').length")
                        .asInt())
                .isBetween(5, 60);
        browser.lookAt("console-many", false, 1280, 390);

        browser.evaluate("scrollTo(0, document.body.scrollHeight)");
        browser.await(row("tenant-1999"));
        assertThat(browser.evaluate("document.querySelectorAll('.seats .row').length")
                        .asInt())
                .isBetween(5, 60);
        var frames = browser.evaluate("new Promise(done => { const times = []; let at = performance.now(); let y = 0;"
                + " const step = now => { times.push(now - at); at = now; y += 400; scrollTo(0, y);"
                + " if (times.length < 120) requestAnimationFrame(step);"
                + " else { times.sort((a, b) => a - b); done(times[60] + ' ms at the median, ' + times[113] + ' ms at 95 %'); } };"
                + " requestAnimationFrame(step); })");
        System.out.println("scrolling through 2,000 elections, from frame to frame: " + frames.asText());

        browser.evaluate("(search => { search.value = '0777'; search.dispatchEvent(new Event('input')); })"
                + "(document.getElementById('search'))");
        browser.await("document.querySelectorAll('.seats .row').length === 1");
        all.get(777).close();
        browser.await(state("tenant-0777") + " === 'nobody leads'");
        assertThat(browser.complaints()).isEmpty();
    }

    /** What is not known is shown as unknown, and stays so on the timeline. */
    @Test
    void whileTheServerIsDownNobodyIsShownAsLeading() throws Exception {
        try (var server = NatsServers.alone();
                var there = Elections.connect(server.uri("bucket=console"))) {
            await(stand(there, "billing", "ann"));
            browser.openNext(console(server.uri("bucket=console"), "--refresh", "200ms", "--timeout", "1s"));
            browser.await(state("billing") + ".startsWith('ann, token ')");

            server.kill();
            browser.await(state("billing") + ".startsWith('unknown; ann led as of')");
            assertThat(browser.evaluate("document.querySelectorAll('.row.leads').length")
                            .asInt())
                    .isZero();
            assertThat(browser.evaluate("document.querySelector('main .notice').textContent")
                            .asText())
                    .contains("It is not known who leads");
            browser.lookAt("console-unknown", false, 1280, 390);

            server.start();
            browser.await(state("billing") + ".startsWith('ann, token ')");
            browser.await("document.querySelector('main .notice').hidden");
        }
    }

    @Test
    void theOpenElectionIsMarkedAsUnknownWhileItCannotBeRead() throws Exception {
        var name = backend.substring("memory:".length());
        var link = LinkedStores.link(name);
        await(stand("billing", "ann"));
        browser.openNext(console("linked:" + name, "--refresh", "200ms", "--timeout", "5s"));
        browser.await(row("billing"));
        browser.evaluate(row("billing") + ".click()");
        browser.await("document.getElementById('near-state')?.textContent.startsWith('ann leads, token 1')");

        link.refuse();
        browser.await("document.getElementById('near-state').textContent.startsWith('Unknown: ')");
        assertThat(browser.evaluate("document.getElementById('near-state').textContent")
                        .asText())
                .contains("refused", "ann leads, token 1");
        assertThat(browser.evaluate("document.getElementById('stand-down').disabled")
                        .asBoolean())
                .isTrue();

        link.heal();
        browser.await("document.getElementById('near-state').textContent.startsWith('ann leads, token 1')");
    }

    @Test
    void pageSaysThatTheConsoleHasEnded() throws Exception {
        await(stand("billing", "ann"));
        browser.openNext(console(backend));
        browser.await(state("billing") + ".startsWith('ann, token 1')");
        consoles.forEach(Thread::interrupt);
        browser.await("document.getElementById('ended').textContent.includes('has ended')");
        browser.await("document.getElementById('live').textContent.startsWith('ended at')");
    }

    @Test
    void pageSaysAlsoAtCtrlCThatTheConsoleHasEnded() throws Exception {
        var on = Commands.uri(folder);
        try (var there = Elections.connect(on)) {
            await(stand(there, "interrupted", "ann"));
            var console = process(on, Ports.free());
            browser.openNext(addressOf(console));
            browser.await(state("interrupted") + ".startsWith('ann, token 1')");

            assertThat(new ProcessBuilder("bash", "-c", "kill -s INT " + console.pid())
                            .start()
                            .waitFor())
                    .isZero();

            browser.await("document.getElementById('ended').textContent.includes('has ended')");
            assertThat(console.waitFor()).isEqualTo(130);
        }
    }

    @Test
    void afterACrashOfTheConsoleNobodyIsShownWhoLedBefore() throws Exception {
        var on = Commands.uri(folder);
        var port = Ports.free();
        try (var there = Elections.connect(on)) {
            var ann = stand(there, "crashed", "ann");
            await(ann);
            var first = process(on, port);
            browser.openNext(addressOf(first));
            browser.await(state("crashed") + ".startsWith('ann, token 1')");

            first.destroyForcibly().waitFor();
            ann.close();
            await(stand(there, "crashed", "bob"));
            addressOf(process(on, port));

            browser.await(state("crashed") + ".startsWith('bob, token 2')");
            browser.evaluate(row("crashed") + ".click()");
            browser.await("document.getElementById('near-state')?.textContent.startsWith('bob leads, token 2')");
            var cells = browser.evaluate("[...document.querySelectorAll('.near td')].map(cell => cell.textContent)");
            assertThat(cells.toString()).contains("\"bob\"").doesNotContain("\"ann\"");
        }
    }

    @Test
    void whoOpensTheAddressWithTheTokenInTheSameTabMayAct() throws Exception {
        var ann = stand("billing", "ann");
        await(ann);
        var url = console(backend);
        browser.openNext(url.substring(0, url.indexOf('#')));
        browser.await(state("billing") + ".startsWith('ann, token 1')");
        assertThat(browser.evaluate("document.getElementById('looking').hidden").asBoolean())
                .isFalse();

        browser.open(url);

        browser.await("document.getElementById('looking')?.hidden && location.hash === ''");
        browser.await(state("billing") + ".startsWith('ann, token 1')");
        browser.evaluate(row("billing") + ".click()");
        browser.await("document.getElementById('stand-down')?.disabled === false");
    }

    @Test
    void whereNothingIsHeldThePageTellsHowToBegin() throws Exception {
        browser.openNext(console(backend));
        browser.await("document.querySelector('.empty') && !document.querySelector('.empty').hidden");
        browser.await("document.querySelector('.empty pre').textContent.startsWith('bellwether run billing')");
        browser.lookAt("console-empty", false, 1280, 390);
    }

    @Test
    void arrowKeysGoFromRowToRow() throws Exception {
        for (var i = 0; i < 40; i++) {
            await(stand("tenant-%02d".formatted(i), "ann"));
        }
        browser.openNext(console(backend));
        browser.await("document.body?.innerText.includes('40 of 40 elections, 0 vacant')");
        browser.evaluate(row("tenant-00") + ".focus()");
        for (var i = 0; i < 30; i++) {
            browser.await("document.activeElement.dataset.name === 'tenant-%02d'".formatted(i));
            browser.press("ArrowDown", 40);
        }
        browser.await("document.activeElement.dataset.name === 'tenant-30'");
        browser.press("Enter", 13);
        browser.await("document.getElementById('near-name')?.textContent === 'tenant-30'");
    }

    @Test
    void whatHasTheFocusKeepsItWhereverItsRowGoes() throws Exception {
        for (var i = 0; i < 40; i++) {
            await(stand("tenant-%02d".formatted(i), "ann"));
        }
        var last = stand(elections, "tenant-40", "ann");
        await(last);
        browser.openNext(console(backend));
        browser.await("document.body?.innerText.includes('41 of 41 elections, 0 vacant')");
        browser.evaluate("scrollTo(0, document.body.scrollHeight)");
        browser.await(row("tenant-40"));
        browser.evaluate(row("tenant-40") + ".focus()");
        last.close();
        browser.await("document.body?.innerText.includes('41 elections, 1 vacant')");
        browser.await("document.activeElement.dataset.name === 'tenant-40'");
        browser.press("ArrowDown", 40);
        browser.await("document.activeElement.dataset.name === 'tenant-00'"); // vacant ones come first
    }

    /** What is off has no focus; a keyboard's user would begin at the top again after each silence. */
    @Test
    void whatHadTheFocusHasItAgainWhenTheConsoleAnswersAgain() throws Exception {
        var on = Commands.uri(folder);
        try (var there = Elections.connect(on)) {
            await(stand(there, "silent", "ann"));
            var console = process(on, Ports.free());
            browser.openNext(addressOf(console));
            browser.await(state("silent") + ".startsWith('ann, token 1')");
            browser.evaluate(row("silent") + ".focus()");

            ProcessReaper.signal("STOP", console.pid());
            browser.await("document.activeElement === document.body");
            ProcessReaper.signal("CONT", console.pid());

            browser.await("document.activeElement.dataset.name === 'silent'");
        }
    }

    private Candidacy stand(String election, String id) {
        return stand(elections, election, id);
    }

    private static Candidacy stand(Elections elections, String election, String id) {
        return elections.stand(
                election, CandidacyConfig.builder().candidate(id).lease(LEASE).build());
    }

    private static void await(Candidacy candidacy) throws InterruptedException {
        assertThat(candidacy.await(PATIENCE)).isPresent();
    }

    private static String row(String election) {
        return "document.querySelector('button[data-name=\"" + election + "\"]')";
    }

    private static String state(String election) {
        return "(" + row(election) + "?.parentElement.querySelector('.state').textContent || '')";
    }

    /** Starts a console and returns its address. */
    private String console(String on, String... more) {
        var line = new ArrayList<>(List.of("console", "--on", on));
        line.addAll(List.of(more));
        var out = new PrintWriter(told, true);
        var around = new CommandEnvironment(
                Map.of(), new BufferedReader(Reader.nullReader()), out, out, false, false, false, true);
        var console = new Thread(() -> Main.run(around, line.toArray(String[]::new)));
        console.start();
        consoles.add(console);
        return Eventually.eventually("the console tells its address", PATIENCE, () -> address(console));
    }

    /** Starts a console as a process of its own. */
    private Process process(String on, int port) throws IOException {
        var line = Commands.interruptible();
        line.addAll(List.of("console", "--on", on, "--port", Integer.toString(port)));
        var console = new ProcessBuilder(line)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        processes.add(console);
        return console;
    }

    /** Returns where it serves, when it does. */
    private static String addressOf(Process console) throws IOException {
        var told = console.inputReader().readLine();
        var matcher = URL.matcher(String.valueOf(told));
        assertThat(matcher.find()).as(told).isTrue();
        return matcher.group();
    }

    private Optional<String> address(Thread console) {
        var runs = console.isAlive(); // first: what one that has ended told is all there
        var all = told.toString();
        var matcher = URL.matcher(all);
        if (matcher.find() && all.endsWith("\n")) {
            return Optional.of(matcher.group());
        }
        assertThat(runs).as(all).isTrue();
        return Optional.empty();
    }
}
