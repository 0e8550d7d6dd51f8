package dev.bellwether.cli;

import java.io.IOException;
import java.util.Arrays;
import java.util.Optional;
import java.util.stream.Collectors;

/** What is typed into the terminal of the demo: a number chooses a candidate, a letter does something to it. One thread reads. */
final class DemoKeys {
    private final Surroundings around;
    private final Scene scene;
    private final Engine engine;
    private final Runnable quit;
    private Optional<String> chosen = Optional.empty();

    DemoKeys(Surroundings around, Scene scene, Engine engine, Runnable quit) {
        this.around = around;
        this.scene = scene;
        this.engine = engine;
        this.quit = quit;
    }

    /** Says what may be typed, and begins to hear it. */
    void start(boolean hearsEachKey) {
        help(hearsEachKey);
        var reader = new Thread(this::read, "bellwether-demo-keys");
        reader.setDaemon(true);
        reader.start();
    }

    private void help(boolean hearsEachKey) {
        var paint = new Paint(around.colours());
        var keys = Arrays.stream(Action.values())
                .filter(action ->
                        engine.server().isPresent() || (action != Action.KILL_SERVER && action != Action.START_SERVER))
                .filter(action -> !engine.links(0).isEmpty() || !action.needsNetwork())
                .map(action -> paint.strong(String.valueOf(action.key())) + " " + action.words())
                .collect(Collectors.joining(", "));
        around.out()
                .println("  Keys" + (hearsEachKey ? "" : ", with Enter")
                        + ": 1 to 6 chooses a candidate, 0 whoever leads; then " + keys + ", " + paint.strong("q")
                        + " quit");
    }

    private void read() {
        try {
            for (var key = around.in().read(); key >= 0; key = around.in().read()) {
                heard((char) key);
            }
        } catch (IOException e) {
            // nobody can type any more
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void heard(char key) throws InterruptedException {
        var action = Action.of(key);
        if (key == 'q') {
            quit.run();
        } else if (key >= '0' && key <= '9') {
            chosen = scene.nameAt(key - '0');
            around.out()
                    .println(new Paint(around.colours()).faint("         chosen: " + chosen.orElse("whoever leads")));
        } else if (action.isPresent()) {
            try {
                scene.act(action.get(), chosen);
            } catch (IllegalStateException | IOException e) {
                around.out().println("         " + e.getMessage());
            }
        }
    }
}
