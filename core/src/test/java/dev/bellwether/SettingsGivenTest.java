package dev.bellwether;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What is the same for the settings of all four. */
class SettingsGivenTest {
    static Stream<Object> builders() {
        return Stream.of(
                CandidacyConfig.builder(), ElectionsConfig.builder(), LockConfig.builder(), RosterConfig.builder());
    }

    @ParameterizedTest
    @MethodSource("builders")
    void nullIsRefusedByTheNameOfTheSetting(Object builder) {
        assertThat(Stream.of(builder.getClass().getDeclaredMethods())
                        .filter(method -> Modifier.isPublic(method.getModifiers()))
                        .filter(method ->
                                method.getParameterCount() == 1 && !method.getParameterTypes()[0].isPrimitive()))
                .isNotEmpty()
                .allSatisfy(setter -> assertThatThrownBy(() -> setNull(builder, setter))
                        .isInstanceOf(ElectionException.class)
                        .hasMessageStartingWith(setter.getName() + " is null: leave it out for "));
    }

    private static void setNull(Object builder, Method setter) throws Throwable {
        try {
            setter.invoke(builder, new Object[] {null});
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    @Test
    void theyShowThemselves() {
        assertThat(CandidacyConfig.builder()
                        .candidate("a")
                        .metadata(Map.of("zone", "b"))
                        .listener(event -> {})
                        .build())
                .hasToString("CandidacyConfig[candidate=a, lease=10 s, renewInterval=3.3 s, retryInterval=833 ms,"
                        + " standDownBudget=2 s, driftBound=0.01, priority=0, metadata={zone=b}, listener=set,"
                        + " onTaskFailure=RETRY, taskInterval=1 ms, haltOnOverrun=false, accessPatience=5 min]");
        assertThat(ElectionsConfig.defaults())
                .hasToString("ElectionsConfig[requestTimeout=5 s, pauseBound=500 ms, connectLazily=false]");
        assertThat(ElectionsConfig.builder().metrics(new Metrics() {}).build())
                .asString()
                .contains("metrics=set");
        assertThat(LockConfig.ofLease(Duration.ofSeconds(20)))
                .asString()
                .startsWith("LockConfig[candidacy=CandidacyConfig[lease=20 s")
                .endsWith(", atLeast=0 s]");
        assertThat(RosterConfig.ofRoles(7))
                .asString()
                .startsWith("RosterConfig[mode=EXCLUSIVE, roles=7, partitions=64")
                .contains("lease=10 s");
    }

    @Test
    void aLockMayKeepNothingByName() {
        assertThat(LockConfig.builder().atLeast(Duration.ZERO).build().atLeast())
                .isZero();
        assertThatThrownBy(() -> LockConfig.builder().atLeast(Duration.ofSeconds(-1)))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("atLeast is -1 s");
    }

    @Test
    void buildersMadeOfSettingsMakeTheSameSettings() {
        var elections = ElectionsConfig.builder()
                .executor(Runnable::run)
                .metrics(new Metrics() {})
                .requestTimeout(Duration.ofSeconds(1))
                .pauseBound(Duration.ofSeconds(2))
                .connectLazily(true)
                .build();
        assertThat(elections.toBuilder().build()).usingRecursiveComparison().isEqualTo(elections);
        var lock = LockConfig.builder()
                .candidacy(CandidacyConfig.ofLease(Duration.ofSeconds(20)))
                .atLeast(Duration.ofSeconds(3))
                .build();
        assertThat(lock.toBuilder().build()).usingRecursiveComparison().isEqualTo(lock);
    }
}
