package dev.bellwether.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.bellwether.ElectionException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Whatever stands in a kubeconfig file: it is used, or refused with a reason. */
class KubeconfigFuzzTest {
    @FuzzTest(maxDuration = "5s")
    void aKubeconfigFileIsUsedOrRefusedWithAReason(byte[] bytes) throws IOException {
        var file = Files.write(Path.of("kubeconfig-fuzzed"), bytes);
        try {
            var read = Kubeconfig.of(file, "");
            assertThat(read.text(read.cluster(), "certificate-authority")).isNotNull();
        } catch (ElectionException e) {
            assertThat(e.getMessage()).isNotBlank();
        }
    }
}
