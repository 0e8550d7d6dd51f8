package dev.bellwether.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the build makes of tests that passed only when tried again. Surefire wrote these reports of planted tests. */
class PassedAgainTest {
    private static final String ASSERTED = """
              <testcase name="twoLeadTheFirstTime" classname="dev.bellwether.PlantedTest" time="0.018">
                <flakyFailure message="[NEVER: two led at once] &#10;expected: 2&#10; but was: 1" type="F">
                  <stackTrace><![CDATA[org.opentest4j.AssertionFailedError:\s
            [NEVER: two led at once]\s
            expected: 2
             but was: 1
            \tat dev.bellwether.PlantedTest.twoLeadTheFirstTime(PlantedTest.java:16)
            ]]></stackTrace>
                </flakyFailure>
              </testcase>
            """;
    private static final String SUPPRESSED = """
              <testcase name="anErrorTheFirstTime" classname="dev.bellwether.PlantedTest" time="0.007">
                <flakyError message="it broke" type="java.lang.IllegalStateException">
                  <stackTrace><![CDATA[java.lang.IllegalStateException: it broke
            \tat dev.bellwether.PlantedTest.anErrorTheFirstTime(PlantedTest.java:22)
            \tSuppressed: java.lang.AssertionError: NEVER: the token did not rise
            \t\tat dev.bellwether.PlantedTest.anErrorTheFirstTime(PlantedTest.java:23)
            ]]></stackTrace>
                </flakyError>
              </testcase>
            """;
    private static final String SLOW = """
              <testcase name="tooSlowTheFirstTime" classname="dev.bellwether.PlantedTest" time="0.025">
                <flakyFailure message="[within 4 s] &#10;expected: 2&#10; but was: 1" type="F">
                  <stackTrace><![CDATA[org.opentest4j.AssertionFailedError:\s
            [within 4 s]\s
            \tat dev.bellwether.PlantedTest.tooSlowTheFirstTime(PlantedTest.java:31)
            ]]></stackTrace>
                  <system-out><![CDATA[NEVER: a test prints what it plants
            ]]></system-out>
                </flakyFailure>
              </testcase>
            """;
    private static final String FINE = """
              <testcase name="passes" classname="dev.bellwether.OtherTest" time="0.01">
                <system-out><![CDATA[NEVER: a test prints what it plants
            ]]></system-out>
              </testcase>
            """;

    @TempDir
    Path folder;

    private record Said(int code, String text) {}

    private Said said(String... cases) throws IOException, InterruptedException {
        var reports = Files.createDirectories(folder.resolve("some module/target/surefire-reports"));
        Files.writeString(
                reports.resolve("TEST-dev.bellwether.PlantedTest.xml"),
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"x\">\n" + String.join("", cases)
                        + "</testsuite>\n");
        return passedAgain(folder);
    }

    private static Said passedAgain(Path... arguments) throws IOException, InterruptedException {
        var command = Stream.concat(Stream.of(Path.of("../scripts/passed-again")), Stream.of(arguments));
        var process = new ProcessBuilder(command.map(Path::toString).toList())
                .redirectErrorStream(true)
                .start();
        var text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return new Said(process.waitFor(), text);
    }

    @Test
    void twoLeadersFailTheBuildAlthoughTheTestPassedTheSecondTime() throws Exception {
        var said = said(FINE, ASSERTED, SLOW);
        assertThat(said.code()).isOne();
        assertThat(said.text())
                .containsOnlyOnce("tooSlowTheFirstTime")
                .endsWith("never be, on no try:\n  dev.bellwether.PlantedTest.twoLeadTheFirstTime: "
                        + "[NEVER: two led at once] &#10;expected: 2&#10; but was: 1\n");
    }

    @Test
    void itMayBeHiddenBesideAnotherFailure() throws Exception {
        var said = said(SUPPRESSED, SLOW);
        assertThat(said.code()).isOne();
        assertThat(said.text())
                .endsWith("never be, on no try:\n  dev.bellwether.PlantedTest.anErrorTheFirstTime: it broke\n");
    }

    @Test
    void whatWasOnlySlowIsToldAndTolerated() throws Exception {
        var said = said(SLOW, FINE);
        assertThat(said.code()).isZero();
        assertThat(said.text())
                .startsWith(
                        "passed only when tried again:\n  dev.bellwether.PlantedTest.tooSlowTheFirstTime: [within 4 s]")
                .hasLineCount(2);
    }

    @Test
    void nothingIsToldOfWhatPassedTheFirstTime() throws Exception {
        assertThat(said(FINE)).isEqualTo(new Said(0, ""));
    }

    @Test
    void reportsOfAnEarlierRunAreNotTold() throws Exception {
        said(ASSERTED);
        var report = folder.resolve("some module/target/surefire-reports/TEST-dev.bellwether.PlantedTest.xml");
        var began = Files.createFile(folder.resolve("began"));
        var now = Files.getLastModifiedTime(began).toInstant();
        Files.setLastModifiedTime(report, FileTime.from(now.minusSeconds(1)));
        assertThat(passedAgain(folder, began)).isEqualTo(new Said(0, ""));
        Files.setLastModifiedTime(report, FileTime.from(now.plusSeconds(1)));
        assertThat(passedAgain(folder, began).code()).isOne();
    }

    @Test
    void theCheckLooksForTheMark() throws Exception {
        assertThat(Files.readString(Path.of("../scripts/passed-again"))).contains('/' + Never.MARK + '/');
        assertThat(Files.readString(Path.of("../check")))
                .containsPattern("(?m)^scripts/passed-again . .cache/began \\|\\| fail ");
    }
}
