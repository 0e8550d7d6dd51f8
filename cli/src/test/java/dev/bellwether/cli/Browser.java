package dev.bellwether.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.bellwether.fixtures.Scripts;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** A real Chromium without a window, and one page in it, spoken to by its DevTools protocol. Confined to one thread. */
public final class Browser implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final Process process;
    private final WebSocket socket;
    private final AtomicInteger serial = new AtomicInteger();
    private final Map<Integer, CompletableFuture<JsonNode>> answers = new ConcurrentHashMap<>();
    private final List<String> complaints = new CopyOnWriteArrayList<>();
    private String session = "";

    private Browser(Process process, String address) throws Exception {
        this.process = process;
        socket = HttpClient.newHttpClient()
                .newWebSocketBuilder()
                .buildAsync(URI.create(address), new Listener(this::hear))
                .get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }

    /** Starts one, whose files lie in this folder. */
    public static Browser start(Path folder) throws Exception {
        var process = new ProcessBuilder(
                        Scripts.where("chromium"),
                        "--headless",
                        "--no-sandbox",
                        "--disable-gpu",
                        "--disable-background-networking",
                        "--disable-component-update",
                        "--disable-sync",
                        "--disable-dev-shm-usage",
                        "--no-first-run",
                        "--hide-scrollbars",
                        "--remote-debugging-port=0",
                        "--user-data-dir=" + folder.resolve("browser"),
                        "about:blank")
                .redirectErrorStream(true)
                .start();
        var address = new CompletableFuture<String>();
        var reader = new Thread(
                () -> {
                    try (var lines = new BufferedReader(
                            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
                        for (var line = lines.readLine(); line != null; line = lines.readLine()) {
                            if (line.startsWith("DevTools listening on ")) {
                                address.complete(line.substring("DevTools listening on ".length()));
                            }
                        }
                        address.completeExceptionally(new IOException("the browser ended"));
                    } catch (IOException e) {
                        address.completeExceptionally(e);
                    }
                },
                "browser");
        reader.setDaemon(true);
        reader.start();
        try {
            var browser = new Browser(process, address.get(PATIENCE.toSeconds(), TimeUnit.SECONDS));
            browser.openPage();
            return browser;
        } catch (Exception e) {
            process.destroyForcibly();
            throw e;
        }
    }

    private void openPage() throws Exception {
        var target = call("Target.createTarget", Map.of("url", "about:blank"))
                .get("targetId")
                .asText();
        session = call("Target.attachToTarget", Map.of("targetId", target, "flatten", true))
                .get("sessionId")
                .asText();
        for (var domain : List.of("Page", "Runtime", "Log", "Network")) {
            call(domain + ".enable", Map.of());
        }
    }

    /** Goes to an address. */
    public void open(String url) throws Exception {
        call("Page.navigate", Map.of("url", url));
    }

    /** Makes the page this large; a phone has two pixels in each. */
    public void size(int width, int height, boolean phone) throws Exception {
        call(
                "Emulation.setDeviceMetricsOverride",
                Map.of("width", width, "height", height, "deviceScaleFactor", phone ? 2 : 1, "mobile", phone));
    }

    /** Sets what the user likes, such as {@code prefers-color-scheme} and {@code dark}. */
    public void prefers(String feature, String value) throws Exception {
        call("Emulation.setEmulatedMedia", Map.of("features", List.of(Map.of("name", feature, "value", value))));
    }

    /** Returns what an expression is on the page; waits for it if it is a promise. */
    public JsonNode evaluate(String expression) throws Exception {
        var answer = call(
                "Runtime.evaluate",
                Map.of("expression", expression, "returnByValue", true, "awaitPromise", true, "userGesture", true));
        if (answer.has("exceptionDetails")) {
            throw new AssertionError(expression + ": " + answer.get("exceptionDetails"));
        }
        return answer.get("result").path("value");
    }

    /** Waits until an expression is true on the page. */
    public void await(String expression) throws Exception {
        var until = System.nanoTime() + PATIENCE.toNanos();
        while (!isTrue(expression)) {
            if (System.nanoTime() - until > 0) {
                throw new AssertionError("it never came true that " + expression + "; the page says: "
                        + evaluate("document.body.innerText").asText());
            }
            TimeUnit.MILLISECONDS.sleep(20);
        }
    }

    private boolean isTrue(String expression) throws Exception {
        try {
            return evaluate("Boolean(" + expression + ")").asBoolean();
        } catch (IllegalStateException e) {
            if (String.valueOf(e.getMessage()).contains("navigated")) {
                return false; // the page is loading again
            }
            throw e;
        }
    }

    /** Presses a key, such as {@code Tab}. */
    public void press(String key, int code) throws Exception {
        for (var type : List.of("keyDown", "keyUp")) {
            call(
                    "Input.dispatchKeyEvent",
                    Map.of(
                            "type",
                            type,
                            "key",
                            key,
                            "code",
                            key,
                            "windowsVirtualKeyCode",
                            code,
                            "text",
                            key.equals("Enter") ? "\r" : ""));
        }
    }

    /** Writes the whole page to a file, for people to look at. */
    public void photograph(String name) throws Exception {
        photograph(name, true);
    }

    /** Leaves the page before, and what was complained of there, and opens this one. */
    void openNext(String url) throws Exception {
        size(1280, 860, false);
        open("about:blank");
        await("location.href === 'about:blank'");
        complaints.clear();
        open(url);
    }

    /** Photographs the page at each of these widths, in light and dark; nothing may stick out sideways. */
    public void lookAt(String name, boolean whole, int... widths) throws Exception {
        for (var width : widths) {
            size(width, 860, width < 500);
            for (var light : List.of("dark", "light")) {
                prefers("prefers-color-scheme", light);
                evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))");
                if (!isTrue("document.documentElement.scrollWidth <= window.innerWidth")) {
                    throw new AssertionError(name + " is wider than " + width);
                }
                photograph(name + "-" + width + "-" + light, whole);
            }
        }
        size(1280, 860, false);
    }

    /** Writes the page to a file, or as much of it as the screen shows. */
    public void photograph(String name, boolean whole) throws Exception {
        var picture = call("Page.captureScreenshot", Map.of("format", "png", "captureBeyondViewport", whole))
                .get("data")
                .asText();
        var folder = Files.createDirectories(Path.of("target", "screenshots"));
        Files.write(folder.resolve(name + ".png"), Base64.getDecoder().decode(picture));
    }

    /** Returns what the console and the network have complained of. */
    public List<String> complaints() {
        return List.copyOf(complaints);
    }

    public JsonNode call(String method, Map<String, ?> parameters) throws Exception {
        var id = serial.incrementAndGet();
        var answer = new CompletableFuture<JsonNode>();
        answers.put(id, answer);
        var message = JSON.createObjectNode().put("id", id).put("method", method);
        message.set("params", JSON.<ObjectNode>valueToTree(parameters));
        if (!session.isEmpty()) {
            message.put("sessionId", session);
        }
        socket.sendText(message.toString(), true).get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        var told = answer.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        if (told.has("error")) {
            throw new IllegalStateException(method + ": " + told.get("error"));
        }
        return told.get("result");
    }

    private void hear(String text) {
        try {
            var message = JSON.readTree(text);
            if (message.has("id")) {
                var waiting = answers.remove(message.get("id").asInt());
                if (waiting != null) {
                    waiting.complete(message);
                }
                return;
            }
            var parameters = message.path("params");
            switch (message.path("method").asText()) {
                case "Runtime.exceptionThrown" -> complaints.add(parameters.toString());
                case "Runtime.consoleAPICalled" -> {
                    if (List.of("error", "warning")
                            .contains(parameters.get("type").asText())) {
                        complaints.add(parameters.toString());
                    }
                }
                case "Log.entryAdded" -> {
                    if (List.of("error", "warning")
                            .contains(parameters.at("/entry/level").asText())) {
                        complaints.add(parameters.toString());
                    }
                }
                default -> {}
            }
        } catch (IOException e) {
            complaints.add("not understood: " + text);
        }
    }

    @Override
    public void close() {
        socket.abort();
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
        try {
            process.waitFor();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Puts the parts of messages together. */
    private static final class Listener implements WebSocket.Listener {
        private final Consumer<String> hear;
        private final StringBuilder parts = new StringBuilder();

        private Listener(Consumer<String> hear) {
            this.hear = hear;
        }

        @Override
        public CompletionStage<?> onText(WebSocket from, CharSequence data, boolean last) {
            parts.append(data);
            if (last) {
                hear.accept(parts.toString());
                parts.setLength(0);
            }
            from.request(1);
            return CompletableFuture.completedFuture(null);
        }
    }
}
