package dev.bellwether.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.cli.Browser;
import dev.bellwether.cli.Commands;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The page of the demo in a real browser. In order, since one demo serves all: to start it takes longer than to look at
 * it.
 */
@Timeout(240)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class DemoPageTest {
    private static final Pattern URL = Pattern.compile("http://[^ ]+#token=[\\w-]+");
    private static final String LEADER = "document.getElementById('leader').textContent";

    @TempDir
    static Path folder;

    private static Process demo;
    private static Browser browser;
    private static String url;

    @BeforeAll
    static void open() throws Exception {
        var line = Commands.java();
        line.add(1, "-Djava.io.tmpdir=" + Files.createDirectories(folder.resolve("tmp")));
        line.add("demo");
        demo = new ProcessBuilder(line)
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("told").toFile())
                .start();
        browser = Browser.start(folder);
        while (!told().contains("#token=")) {
            assertThat(demo.isAlive()).as(told()).isTrue();
            TimeUnit.MILLISECONDS.sleep(20);
        }
        var matcher = URL.matcher(told());
        assertThat(matcher.find()).isTrue();
        url = matcher.group();
        browser.size(1280, 860, false);
        browser.open(url);
        browser.await("document.querySelectorAll('.row[data-name]').length === 4");
        browser.await("document.querySelectorAll('.row[data-state=\"standing by\"]').length === 2");
        browser.await("document.querySelector('.row.leads')");
    }

    @AfterAll
    static void close() {
        if (browser != null) {
            browser.close();
        }
        if (demo != null) {
            demo.destroyForcibly();
        }
    }

    @Test
    @Order(1)
    void pageLoadsWithoutComplaintsAndHidesTheToken() throws Exception {
        assertThat(browser.evaluate("document.getElementById('live').textContent")
                        .asText())
                .isEqualTo("live");
        assertThat(browser.evaluate("document.getElementById('overlap').textContent")
                        .asText())
                .isEqualTo("0 ns");
        assertThat(browser.evaluate("location.href").asText()).doesNotContain("token");
        assertThat(browser.complaints()).isEmpty();
    }

    @Test
    @Order(2)
    void killByTheButtonMovesTheLeaderOnThePage() throws Exception {
        // on a busy machine the leader may lose the seat at any time, and the button waits for the next one then
        var button = "document.getElementById('kill-leader')";
        browser.await("!" + button + ".disabled && (window.killed = " + LEADER + ", " + button + ".click(), true)");
        var before = browser.evaluate("window.killed").asText();

        browser.await("document.querySelector('.row[data-name=\"" + before + "\"]').dataset.state === 'dead'");
        browser.await("document.querySelector('.row.leads') && " + LEADER + " !== '" + before + "' && " + LEADER
                + " !== 'electing…'");
        browser.await("document.getElementById('vacancy').textContent.endsWith(' s')");
        browser.await("document.getElementById('said').textContent.includes('vacant for')");
        click(before, "start");
        browser.await("document.querySelector('.row[data-name=\"" + before + "\"]').dataset.state === 'standing by'");
        assertThat(browser.evaluate("document.getElementById('overlap').textContent")
                        .asText())
                .isEqualTo("0 ns");
    }

    @Test
    @Order(3)
    void frozenAndCutOffCandidatesAreShownAsWhatTheyAre() throws Exception {
        var first = browser.evaluate(LEADER).asText();
        click(first, "freeze");
        browser.await("document.querySelector('.row[data-name=\"" + first + "\"]').classList.contains('frozen')");
        browser.await(LEADER + " !== '" + first + "' && " + LEADER + " !== 'electing…'");
        var second = browser.evaluate(LEADER).asText();
        click(second, "cut");
        browser.await("document.querySelector('.row[data-name=\"" + second + "\"]').classList.contains('cut')");
        browser.await(LEADER + " !== '" + second + "' && " + LEADER + " !== 'electing…'");
        var third = browser.evaluate(LEADER).asText();
        click(third, "slow");
        browser.await(
                "document.querySelector('.row[data-name=\"" + third + "\"] .state').textContent.includes('slow')");
        browser.lookAt("demo", true, 1280, 820, 390);
        click(first, "thaw");
        click(second, "heal");
        click(third, "heal");
        browser.await("document.querySelectorAll('.row.frozen, .row.cut').length === 0");
    }

    @Test
    @Order(4)
    void everythingCanBeReachedByKeyboardAndHasAName() throws Exception {
        assertThat(browser.evaluate(
                                "[...document.querySelectorAll('button, select, input')]"
                                        + ".filter(one => !(one.getAttribute('aria-label') || one.textContent || one.labels?.length)).length")
                        .asInt())
                .isZero();
        browser.evaluate("document.activeElement.blur()");
        var reached = false;
        for (var i = 0; i < 40 && !reached; i++) {
            browser.press("Tab", 9);
            reached = browser.evaluate("document.activeElement.dataset.action === 'freeze'")
                    .asBoolean();
        }
        assertThat(reached).isTrue();
        var name = browser.evaluate("document.activeElement.closest('.row').dataset.name")
                .asText();
        browser.press("Enter", 13);
        browser.await("document.querySelector('.row[data-name=\"" + name + "\"]').classList.contains('frozen')");
        browser.await("document.activeElement.dataset.action && !document.activeElement.disabled");
        click(name, "thaw");
        browser.await("document.querySelectorAll('.row.frozen').length === 0");
    }

    /** The rows still tell all that happens; only the time line stops flowing. */
    @Test
    @Order(4)
    void whoWantsNoMotionHasNone() throws Exception {
        browser.evaluate("(prototype => { const clear = prototype.clearRect; window.cleared = 0;"
                + " prototype.clearRect = function (...box) { window.cleared++; clear.apply(this, box); }; })"
                + "(CanvasRenderingContext2D.prototype)");
        var flowing = drawnInThreeSeconds();
        browser.prefers("prefers-reduced-motion", "reduce");
        var still = drawnInThreeSeconds();
        browser.prefers("prefers-reduced-motion", "no-preference");
        assertThat(still).isPositive().isLessThan(flowing / 3);
    }

    private static int drawnInThreeSeconds() throws Exception {
        return browser.evaluate("new Promise(done => { window.cleared = 0;"
                        + " setTimeout(() => done(window.cleared), 3000); })")
                .asInt();
    }

    @Test
    @Order(5)
    void brokerIsKilledAfterAQuestionAndStartsAgain() throws Exception {
        click("broker", "kill-server");
        browser.await("document.getElementById('ask').open");
        browser.evaluate("document.getElementById('ask-no').click()");
        browser.await("!document.getElementById('ask').open");
        click("broker", "kill-server");
        browser.await("document.getElementById('ask').open");
        browser.photograph("demo-question");
        browser.evaluate("document.getElementById('ask-yes').click()");
        browser.await("document.querySelector('.row.server.dead')");
        click("broker", "start-server");
        browser.await("document.querySelector('.row.server .state').textContent === 'serving'");
        browser.await("document.querySelector('.row.leads')");
    }

    @Test
    @Order(5)
    void seatRowTellsEachGapWithItsCauseAndTheTableWhatEndedEachTerm() throws Exception {
        var before = browser.evaluate(LEADER).asText();
        browser.evaluate("document.getElementById('kill-leader').click()");
        browser.await(LEADER + " === 'electing…'");
        browser.await("document.querySelector('.theseat .state').textContent.startsWith('electing for')");
        browser.await(LEADER + " !== 'electing…'");
        browser.await("[...document.querySelectorAll('tbody tr')].some(row => row.cells[1].textContent === '" + before
                + "' && row.cells[4].textContent === 'killed' && row.cells[5].textContent.endsWith(' s'))");
        click(before, "start");
        browser.await("document.querySelectorAll('.row[data-state=\"dead\"]').length === 0");
    }

    @Test
    @Order(5)
    void eachRowShowsThreeButtonsAndTheOthersInAMenuThatCloses() throws Exception {
        assertThat(browser.evaluate(
                                "[...document.querySelectorAll('.row[data-state]')].every(row =>"
                                        + " [...row.querySelectorAll('.does > button')].filter(one => !one.hidden).length === 3)")
                        .asBoolean())
                .isTrue();
        browser.evaluate("document.querySelector('.row[data-state] .menu summary').click()");
        browser.await("document.querySelector('.row[data-state] .menu').open");
        browser.lookAt("demo-menu", true, 1280, 820, 390);
        browser.press("Escape", 27);
        browser.await("!document.querySelector('.menu[open]')");
    }

    @Test
    @Order(6)
    void lookerOnWithoutTheTokenSeesButMayNotAct() throws Exception {
        browser.evaluate("sessionStorage.clear()");
        browser.open(url.substring(0, url.indexOf('#')));
        browser.await("document.querySelectorAll('.row[data-name]').length === 4");

        assertThat(browser.evaluate("document.getElementById('looking').hidden").asBoolean())
                .isFalse();
        assertThat(browser.evaluate("[...document.querySelectorAll('main button')].every(one => one.disabled)")
                        .asBoolean())
                .isTrue();
        assertThat(browser.evaluate(
                                "fetch('/order', {method: 'POST', body: 'action=kill'}).then(answer => answer.status)")
                        .asInt())
                .isEqualTo(403);
    }

    /** Last: nothing is left to look at. */
    @Test
    @Order(7)
    void pageSaysThatTheDemoHasEndedAndStandsStill() throws Exception {
        browser.open("about:blank");
        browser.await("location.href === 'about:blank'");
        browser.open(url);
        browser.await("document.querySelector('.row.leads') && !document.getElementById('kill-leader').disabled");
        demo.destroy();
        browser.await("document.body.classList.contains('stale')");
        browser.await("!document.getElementById('ended').hidden");
        assertThat(browser.evaluate(
                                "[...document.querySelectorAll('main button')].every(one => one.matches(':disabled'))")
                        .asBoolean())
                .isTrue();
        browser.lookAt("demo-ended", true, 1280, 820, 390);
    }

    private static void click(String name, String action) throws Exception {
        var button = "document.querySelector('.row[data-name=\"" + name + "\"] [data-action=\"" + action + "\"]')";
        browser.await(button + " && !" + button + ".disabled");
        browser.evaluate(button + ".click()");
    }

    private static String told() {
        try {
            return Files.readString(folder.resolve("told"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
