package dev.bellwether.cli.demo;

import dev.bellwether.testkit.faults.ObservedTerm;
import dev.bellwether.testkit.faults.TermFile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * One process of a candidate of the demo. Confined to anybody who holds the lock of the scene, but for its output,
 * which a thread reads.
 *
 * <p>Its standard input is a pipe from us, which ends when we do, however we end; then it ends, too. A frozen process
 * could not: the shell that froze it holds such a pipe as well, and lets it go on.
 */
final class DemoProcess {
    private static final String FREEZE =
            "trap '' HUP INT TERM; kill -STOP \"$1\" && echo done; read -r _; kill -CONT \"$1\"";

    private final String name;
    private final int number;
    private final Process process;
    private final TermFile terms;
    private long heard;
    private Optional<Process> freezer = Optional.empty();
    private volatile boolean standing;

    private DemoProcess(String name, int number, Process process, TermFile terms) {
        this.name = name;
        this.number = number;
        this.process = process;
        this.terms = terms;
    }

    /**
     * What all candidates are told.
     *
     * @param main where the command begins that they run
     */
    record Orders(Class<?> main, String election, Duration lease, Path folder) {}

    static DemoProcess start(String name, int number, String uri, Orders orders) throws IOException {
        var file = orders.folder().resolve(name + "-" + number + ".terms");
        var terms = TermFile.open(file);
        var line = new ArrayList<>(ownCommand(orders.main()));
        line.addAll(List.of("demo-candidate", "--id", name, "--election", orders.election()));
        line.addAll(List.of("--lease", orders.lease().toMillis() + "ms", "--terms", file.toString()));
        var builder = new ProcessBuilder(line)
                .redirectError(
                        orders.folder().resolve(name + "-" + number + ".err").toFile());
        builder.environment().put("BELLWETHER_ON", uri); // it may hold a password, and anybody may list command lines
        var started = new DemoProcess(name, number, builder.start(), terms);
        var reader = new Thread(started::listen, "bellwether-demo-" + name);
        reader.setDaemon(true);
        reader.start();
        return started;
    }

    /** Returns how this process was started, for another of the same. */
    private static List<String> ownCommand(Class<?> main) {
        var line = new ArrayList<String>();
        line.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        for (var option : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
            if (option.startsWith("-XX:") || option.startsWith("-Xshare") || option.startsWith("-Xlog")) {
                line.add(option);
            }
        }
        line.addAll(List.of("-Xmx64m", "-cp", System.getProperty("java.class.path"), main.getName()));
        return line;
    }

    private void listen() {
        try (var lines = process.inputReader(StandardCharsets.UTF_8)) {
            for (var line = lines.readLine(); line != null; line = lines.readLine()) {
                standing = line.equals("standing");
            }
        } catch (IOException e) {
            standing = false; // it has gone
        }
    }

    String name() {
        return name;
    }

    int number() {
        return number;
    }

    long pid() {
        return process.pid();
    }

    boolean isAlive() {
        return process.isAlive();
    }

    /** Returns whether it stands; else it still starts, or rests after it has resigned. */
    boolean isStanding() {
        return standing;
    }

    boolean isFrozen() {
        return freezer.isPresent();
    }

    /** Returns the terms that have not been {@link #heard} as over. */
    List<ObservedTerm> look() {
        var alive = process.isAlive(); // before: of a dead one, what is written is all
        return terms.since(heard, name, number).stream()
                .map(term -> alive ? term : term.ended())
                .toList();
    }

    /** Takes note that this term has been told; if it is over, it need not be told again. */
    void heard(ObservedTerm term) {
        if (term.over()) {
            heard++;
        }
    }

    /** Kills it, by SIGKILL, and returns when it is dead. */
    void kill() throws InterruptedException {
        process.destroyForcibly();
        process.waitFor();
        thaw();
    }

    void freeze() throws IOException {
        var shell = new ProcessBuilder("sh", "-c", FREEZE, "freeze", Long.toString(pid()))
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        if (shell.getInputStream().read() < 0) {
            throw new IOException("kill -STOP " + pid() + " failed");
        }
        freezer = Optional.of(shell);
    }

    void thaw() throws InterruptedException {
        if (freezer.isPresent()) {
            try {
                freezer.get().getOutputStream().close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            freezer.get().waitFor();
            freezer = Optional.empty();
        }
    }

    /** Asks it to resign; it stands again a lease later. */
    void resign() throws IOException {
        var in = process.getOutputStream();
        in.write('\n');
        in.flush();
    }
}
