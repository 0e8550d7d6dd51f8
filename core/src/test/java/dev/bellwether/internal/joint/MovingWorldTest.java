package dev.bellwether.internal.joint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.internal.joint.MovingWorld.Kind;
import dev.bellwether.internal.joint.MovingWorld.Never;
import dev.bellwether.spi.Proof;
import java.util.EnumMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class MovingWorldTest {
    private static final int WORLDS = Integer.getInteger("bellwether.moving.worlds", 400);

    /** What would break if a decision were made wrongly. */
    enum Mistake {
        LEADS_BY_ONE("lead at once"),
        /** Each seat tells when it is over, at its next renewal: the mandate rarely lasts until another leads. */
        GOES_BY_THE_PROOF_OF_ONE("works beside"),
        GIVES_BACK_WHILE_THE_WORK_RUNS("works beside"),
        HAS_THE_TOKEN_OF_THE_OLD_SEAT("token"),
        CLAIMS_THE_NEXT_SEAT_WITH_ANY_TOKEN("token"),
        LEADS_UNDER_A_HIGHER_TOKEN_THAN_THAT_OF_THE_OLD_SEAT("token");

        private final String seen;

        Mistake(String seen) {
            this.seen = seen;
        }
    }

    /** The rules, with one mistake in them. */
    private static final class Mistaken extends JointRules {
        private final Mistake mistake;

        private Mistaken(Mistake mistake) {
            this.mistake = mistake;
        }

        @Override
        boolean mayLead(boolean hasOld, boolean hasNext) {
            return mistake == Mistake.LEADS_BY_ONE ? hasOld || hasNext : super.mayLead(hasOld, hasNext);
        }

        @Override
        Proof proof(Proof old, Proof next) {
            return mistake == Mistake.GOES_BY_THE_PROOF_OF_ONE ? next : super.proof(old, next);
        }

        @Override
        boolean keepsUntilTheWorkHasEnded() {
            return mistake != Mistake.GIVES_BACK_WHILE_THE_WORK_RUNS;
        }

        @Override
        long least(long oldToken) {
            return mistake == Mistake.CLAIMS_THE_NEXT_SEAT_WITH_ANY_TOKEN ? 0 : oldToken;
        }

        @Override
        boolean isInOrder(long oldToken, long nextToken, boolean choosesOld, int tries) {
            return switch (mistake) {
                case GOES_BY_THE_PROOF_OF_ONE, GIVES_BACK_WHILE_THE_WORK_RUNS ->
                    super.isInOrder(oldToken, nextToken, choosesOld, tries);
                case LEADS_BY_ONE,
                        HAS_THE_TOKEN_OF_THE_OLD_SEAT,
                        CLAIMS_THE_NEXT_SEAT_WITH_ANY_TOKEN,
                        LEADS_UNDER_A_HIGHER_TOKEN_THAN_THAT_OF_THE_OLD_SEAT -> true;
            };
        }

        @Override
        long token(long oldToken, long nextToken) {
            return switch (mistake) {
                case HAS_THE_TOKEN_OF_THE_OLD_SEAT -> oldToken;
                case LEADS_BY_ONE, CLAIMS_THE_NEXT_SEAT_WITH_ANY_TOKEN -> Math.max(oldToken, nextToken);
                case GOES_BY_THE_PROOF_OF_ONE,
                        GIVES_BACK_WHILE_THE_WORK_RUNS,
                        LEADS_UNDER_A_HIGHER_TOKEN_THAN_THAT_OF_THE_OLD_SEAT -> nextToken;
            };
        }
    }

    @Test
    void nobodyLeadsBesideAnotherAndTokensRiseOverTheWholeMove() {
        var mandates = new EnumMap<Kind, Integer>(Kind.class);
        for (var seed = 0; seed < WORLDS; seed++) {
            var world = new MovingWorld(seed, JointRules.TRUE, seed % 2 == 1, true);
            run(world, seed);
            world.mandates.forEach((kind, count) -> mandates.merge(kind, count, Integer::sum));
        }
        System.out.println("mandates in " + WORLDS + " moves: " + mandates);
        assertThat(mandates)
                .hasSize(3)
                .allSatisfy((kind, count) ->
                        assertThat(count).as("mandates by %s", kind).isGreaterThan(WORLDS));
    }

    @ParameterizedTest
    @EnumSource
    void mistakesAreFound(Mistake mistake) {
        assertThat(IntStream.range(0, 1_000)
                        .mapToObj(seed -> whatIsWrong(seed, mistake))
                        .anyMatch(wrong -> wrong.contains(mistake.seen)))
                .as("found: %s", mistake.seen)
                .isTrue();
    }

    /** Returns what a world comes to whose rules have this mistake; empty if all is well in it. */
    private static String whatIsWrong(int seed, Mistake mistake) {
        try {
            run(new MovingWorld(seed, new Mistaken(mistake), seed % 2 == 1, true), seed);
            return "";
        } catch (AssertionError e) {
            return String.valueOf(e.getMessage());
        }
    }

    /** Why step 3 begins when somebody leads by both: else the next seat has not heard of the last tokens. */
    @Test
    void whoGoesOnBeforeAJointCandidateHasLedMayFindALowerToken() {
        assertThatThrownBy(() -> {
                    for (var seed = 0; seed < 1_000; seed++) {
                        run(new MovingWorld(seed, JointRules.TRUE, seed % 2 == 1, false), seed);
                    }
                })
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("token");
    }

    private static void run(MovingWorld world, long seed) {
        try {
            world.run();
        } catch (Never e) {
            throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
        }
    }
}
