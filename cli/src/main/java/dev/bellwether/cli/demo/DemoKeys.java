package dev.bellwether.cli.demo;

import dev.bellwether.cli.command.CommandEnvironment;
import dev.bellwether.cli.command.Paint;
import java.io.IOException;
import java.util.Arrays;
import java.util.Optional;

/**
 * What is typed into the terminal of the demo: a number chooses a candidate, a letter does something to it. One thread
 * reads.
 */
final class DemoKeys {
    private final CommandEnvironment around;
    private final DemoCluster scene;
    private final Engine engine;
    private final Runnable quit;
    private Optional<String> chosen = Optional.empty();

    DemoKeys(CommandEnvironment around, DemoCluster scene, Engine engine, Runnable quit) {
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

    /** A table for a person at a terminal; nobody else types. */
    private void help(boolean hearsEachKey) {
        if (!around.inIsTerminal()) {
            return;
        }
        var paint = new Paint(around.colours());
        around.out().println("  Keys" + (hearsEachKey ? "" : " (each with Enter)") + ":");
        row(paint, "1 to 6", "choose a candidate; 0: whichever leads");
        Arrays.stream(Action.values())
                .filter(action ->
                        engine.server().isPresent() || (action != Action.KILL_SERVER && action != Action.START_SERVER))
                .filter(action -> !engine.links(0).isEmpty() || !action.needsNetwork())
                .forEach(action -> row(paint, String.valueOf(action.key()), action.words()));
        row(paint, "q", "quit");
    }

    private void row(Paint paint, String key, String words) {
        around.out().println("    " + paint.strong("%-8s".formatted(key)) + words);
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
            around.out().println(new Paint(around.colours()).faint("         chosen: " + chosen.orElse("the leader")));
        } else if (action.isPresent()) {
            try {
                scene.act(action.get(), chosen);
            } catch (IllegalStateException | IOException e) {
                around.out().println("         " + e.getMessage());
            }
        }
    }
}
