package dev.bellwether.internal.election;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.Elections;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.spi.Proof;
import java.io.File;
import java.io.IOException;
import java.lang.module.ModuleFinder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the JVM's flight recorder tells of leadership. */
class FlightLogTest {
    private static final String TERM = "dev.bellwether.Term";
    private static final String LOSS = "dev.bellwether.Loss";

    @TempDir
    Path directory;

    @Test
    void aTermIsRecordedWithItsTokenAndTheCauseOfItsEnd() throws Exception {
        var election = "billing-" + UUID.randomUUID();
        var events = record(() -> {
            try (var elections = Elections.connect("memory:" + election);
                    var candidacy = elections.stand(
                            election, CandidacyConfig.builder().candidate("me").build())) {
                assertThat(candidacy.await(Duration.ofSeconds(30))).isPresent();
            }
        });
        var terms = of(events, TERM, election);
        assertThat(terms).hasSize(1);
        var term = terms.get(0);
        assertThat(term.getString("candidate")).isEqualTo("me");
        assertThat(term.getLong("token")).isEqualTo(1);
        assertThat(term.getString("cause")).isEqualTo("RESIGNED");
        assertThat(term.getDuration("heldNanos")).isPositive();
        assertThat(term.getDuration()).isPositive();
        assertThat(of(events, LOSS, election)).isEmpty();
    }

    @Test
    void aTermThatBeganBeforeTheRecordingIsRecordedWithAllOfItsTime() throws Exception {
        var log = new FlightLog();
        var mandate = mandate("early");
        log.turned(new LeadershipEvent.Acquired(mandate), 1_000);
        var events = record(() -> log.turned(new LeadershipEvent.Revoked(mandate, Cause.RESIGNED), 3_000));
        assertThat(of(events, TERM, "early"))
                .singleElement()
                .satisfies(term -> assertThat(term.getDuration("heldNanos")).isEqualTo(Duration.ofNanos(2_000)));
    }

    @Test
    void aLossIsRecordedBesideItsTerm() throws Exception {
        var events = record(() -> {
            try (var rig = new Rig()) {
                rig.stand("one", rig.config());
                rig.wire.cut = true;
                rig.pass(Duration.ofSeconds(11));
                assertThat(rig.heard).contains("Fenced UNREACHABLE");
            }
        });
        assertThat(of(events, TERM, "billing"))
                .singleElement()
                .satisfies(term -> assertThat(term.getString("cause")).isEqualTo("UNREACHABLE"))
                .satisfies(term -> assertThat(term.getDuration("heldNanos")).isGreaterThan(Duration.ofSeconds(7)));
        assertThat(of(events, LOSS, "billing"))
                .singleElement()
                .satisfies(loss -> assertThat(loss.getBoolean("overrun")).isFalse())
                .satisfies(loss -> assertThat(loss.getString("cause")).isEqualTo("UNREACHABLE"));
    }

    @Test
    void workThatOutlastsTheBudgetIsALossAfterItsTerm() throws Exception {
        var events = record(() -> {
            var log = new FlightLog();
            var mandate = mandate("ledger");
            log.turned(new LeadershipEvent.Acquired(mandate), 1_000);
            log.turned(new LeadershipEvent.Revoked(mandate, Cause.RESIGNED), 3_000);
            log.turned(new LeadershipEvent.Fenced(mandate, Cause.RESIGNED), 9_000);
        });
        assertThat(of(events, TERM, "ledger"))
                .singleElement()
                .satisfies(term -> assertThat(term.getDuration("heldNanos")).isEqualTo(Duration.ofNanos(2_000)));
        assertThat(of(events, LOSS, "ledger"))
                .singleElement()
                .satisfies(loss -> assertThat(loss.getBoolean("overrun")).isTrue());
    }

    @Test
    void aJvmWithoutTheRecorderElectsAnyway() throws Exception {
        var random = "jdk.random"; // where java.base has no generators of its own yet
        var modules = "java.base" + (ModuleFinder.ofSystem().find(random).isPresent() ? ',' + random : "");
        assertThat(ledBy("--limit-modules", modules))
                .contains("recorder: false")
                .contains("led true");
    }

    /** Whatever loads an event's class sets the recorder up: the loop would, when a mandate has just been granted. */
    @Test
    void nothingOfTheRecorderIsLoadedBeforeItIsStarted() throws Exception {
        assertThat(ledBy("-Xlog:class+load"))
                .contains("recorder: true")
                .contains("led true")
                .contains(FlightLog.class.getName())
                .doesNotContain(TermFlight.class.getName())
                .doesNotContain(LossFlight.class.getName());
    }

    /** Returns what a JVM with these options says that leads once. */
    private static String ledBy(String... options) throws IOException, InterruptedException {
        var classPath = System.getProperty("java.class.path")
                + File.pathSeparator
                + Objects.requireNonNullElse(System.getProperty("jdk.module.path"), "");
        var command = new ArrayList<String>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of(options));
        command.addAll(List.of("-cp", classPath, LeadsOnce.class.getName()));
        var process = new ProcessBuilder(command).redirectErrorStream(true).start();
        try {
            var output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(process.waitFor(30, TimeUnit.SECONDS)).as(output).isTrue();
            return output;
        } finally {
            process.destroyForcibly();
        }
    }

    /** Leads once and leaves. */
    static final class LeadsOnce {
        private LeadsOnce() {}

        public static void main(String[] args) throws InterruptedException {
            System.out.println(
                    "recorder: " + ModuleLayer.boot().findModule("jdk.jfr").isPresent());
            try (var elections = Elections.connect("memory:");
                    var candidacy = elections.stand("billing")) {
                System.out.println(
                        "led " + candidacy.await(Duration.ofSeconds(20)).isPresent());
            }
        }
    }

    private static LocalMandate mandate(String election) {
        var clock = new Rig.HandClock();
        var proof = new Proof(clock.now(), Duration.ofSeconds(10));
        return new LocalMandate(election, "me", 7, Validity.of(proof, Duration.ofSeconds(2), 0.01), clock);
    }

    private interface Scene {
        void play() throws Exception;
    }

    private List<RecordedEvent> record(Scene scene) throws Exception {
        var file = directory.resolve("flight.jfr");
        try (var recording = new Recording()) {
            recording.enable(TERM);
            recording.enable(LOSS);
            recording.start();
            scene.play();
            recording.stop();
            recording.dump(file);
        }
        return RecordingFile.readAllEvents(file);
    }

    private static List<RecordedEvent> of(List<RecordedEvent> events, String type, String election) throws IOException {
        return events.stream()
                .filter(event -> event.getEventType().getName().equals(type))
                .filter(event -> event.getString("election").equals(election))
                .toList();
    }
}
