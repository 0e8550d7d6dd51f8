package dev.bellwether.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.cli.Animation;
import dev.bellwether.cli.Browser;
import dev.bellwether.cli.Commands;
import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Makes the moving picture of the README from the real page in a real browser: the leader is killed, nobody leads, the
 * next one leads. Run by {@code scripts/pictures}; not a test of the build.
 */
@Timeout(300)
class DemoPicture {
    private static final int WIDTH = 1000;
    private static final int HEIGHT = 622;
    private static final int BETWEEN_FRAMES_MILLIS = 250;
    private static final long SHOWN_NANOS = TimeUnit.SECONDS.toNanos(16);
    private static final long LARGEST_BYTES = 1_000_000;
    private static final String LEADER = "document.getElementById('leader').textContent";

    @TempDir
    static Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"light", "dark"})
    void leaderIsKilledAndTheNextOneLeads(String light) throws Exception {
        var line = Commands.java();
        line.add(1, "-Djava.io.tmpdir=" + Files.createDirectories(folder.resolve("tmp")));
        line.add("demo");
        var told = folder.resolve("told-" + light);
        var demo = new ProcessBuilder(line)
                .redirectErrorStream(true)
                .redirectOutput(told.toFile())
                .start();
        try (var browser = Browser.start(folder)) {
            while (!Files.readString(told).contains("#token=")) {
                assertThat(demo.isAlive()).as(Files.readString(told)).isTrue();
                TimeUnit.MILLISECONDS.sleep(20);
            }
            var printed = Files.readString(told);
            var url = printed.substring(printed.indexOf("http://"), printed.indexOf('\n', printed.indexOf("#token=")));
            browser.size(WIDTH, HEIGHT, false);
            browser.prefers("prefers-color-scheme", light);
            browser.open(url.strip());
            browser.await("document.querySelectorAll('.row[data-state=\"standing by\"]').length === 2");
            browser.await("document.querySelector('.row.leads')");
            browser.evaluate("(reach => { reach.value = '15000'; reach.dispatchEvent(new Event('change')); })"
                    + "(document.getElementById('reach'))");
            awaitOneLeader(browser);
            picture(browser, Path.of("..", "docs", "pictures", "demo-" + light + ".png"));
        } finally {
            demo.destroy();
            demo.waitFor();
        }
    }

    /** Until all that the time line shows is one mandate: while three processes start, the seat may move. */
    private static void awaitOneLeader(Browser browser) throws Exception {
        var since = System.nanoTime();
        var before = "";
        while (System.nanoTime() - since < SHOWN_NANOS) {
            var now = browser.evaluate("document.getElementById('leader').parentNode.textContent")
                    .asText();
            since = now.equals(before) ? since : System.nanoTime();
            before = now;
            TimeUnit.MILLISECONDS.sleep(BETWEEN_FRAMES_MILLIS);
        }
    }

    private static void picture(Browser browser, Path file) throws Exception {
        var animation = new Animation();
        film(browser, animation, 2_000);
        var before = browser.evaluate(LEADER).asText();
        browser.evaluate("document.getElementById('kill-leader').focus()");
        browser.evaluate("document.getElementById('kill-leader').click()");
        while (List.of(before, "electing…").contains(browser.evaluate(LEADER).asText())) {
            film(browser, animation, 1);
        }
        film(browser, animation, 4_000);
        animation.write(file);
        System.out.println(file + ": " + Files.size(file) + " bytes");
        assertThat(Files.size(file)).isLessThan(LARGEST_BYTES);
    }

    /** Takes frames for so long, one at least. */
    private static void film(Browser browser, Animation animation, long millis) throws Exception {
        var until = System.nanoTime() + millis * 1_000_000;
        do {
            var began = System.nanoTime();
            animation.add(shot(browser), began);
            var left = BETWEEN_FRAMES_MILLIS - (System.nanoTime() - began) / 1_000_000;
            TimeUnit.MILLISECONDS.sleep(Math.max(1, left));
        } while (System.nanoTime() - until < 0);
    }

    private static BufferedImage shot(Browser browser) throws Exception {
        var data = browser.call("Page.captureScreenshot", Map.of("format", "png"))
                .get("data")
                .asText();
        return ImageIO.read(new ByteArrayInputStream(Base64.getDecoder().decode(data)));
    }
}
