package dev.bellwether.testkit;

import java.util.List;

/** A way in which a store can be broken, with the facts of the contract that must find it. */
enum Fault {
    GRANTS_WHAT_IS_HELD(
            "exactlyOneOfTenCandidatesLeads",
            "aStandbysOutageDisturbsNobody",
            "ofTenThreadsThatWantALockOneRunsAtATimeUnderAHigherToken",
            "aLockIsTheSeatOfTheElectionOfItsName"),
    TOKEN_DOES_NOT_RISE(
            "ofTenThreadsThatWantALockOneRunsAtATimeUnderAHigherToken",
            "resignHandsOverAndTheSuccessorsTokenIsHigher",
            "tokensRiseFromTermToTerm",
            "whoComesAfterAClosedLeaderLeadsWithoutWaitingForTheLease",
            "aLoneCandidateLeadsAgainAfterALongOutageUnderAHigherToken"),
    TOKEN_IS_NOT_THE_ONE_THAT_WAS_CHOSEN("whoComesFromElsewhereGoesOnAboveTheTokensThere"),
    SETS_NO_TOKENS("whoComesFromElsewhereGoesOnAboveTheTokensThere"),
    FIRST_CLAIM_WAITS_FOR_A_LEASE("aLoneCandidateLeadsAtOnce"),
    FORGETS_RELEASE(
            "aClosedLeadersSuccessorLeadsWithoutWaitingForTheLease",
            "whoComesAfterAClosedLeaderLeadsWithoutWaitingForTheLease",
            "resignHandsOverAndTheSuccessorsTokenIsHigher",
            "aLockIsTheSeatOfTheElectionOfItsName"),
    RELEASES_FOR_ANYBODY("closeWhileStandingByLeavesNoTrace"),
    KEEPS_WHO_HAS_LEFT("closeWhileStandingByLeavesNoTrace"),
    TELLS_NOBODY("aClosedLeadersSuccessorLeadsWithoutWaitingForTheLease", "anOperatorsStandDownMovesTheSeat"),
    LEASE_HALF_AS_LONG(
            "aKilledClientsSuccessorLeadsAfterTheLeaseAndNotBefore", "anOutageShorterThanTheDeadlineChangesNothing"),
    LEASE_WITHOUT_END(
            "aKilledClientsSuccessorLeadsAfterTheLeaseAndNotBefore",
            "closeEndsWithinItsBoundThoughTheServerIsOutOfReach"),
    CLOSES_LATE("closeEndsWithinItsBoundThoughTheServerIsOutOfReach", "closeEndsWithinItsBoundThoughTheListenerBlocks"),
    CLOSE_THROWS(
            "closeEndsWithinItsBoundThoughTheServerIsOutOfReach", "closeEndsWithinItsBoundThoughTheListenerBlocks"),
    FAILS_AGAIN_AFTER_AN_OUTAGE("anOutageIsToldOnceAndThatItIsOverOnce"),
    REVIVES_LEASES_THAT_RAN_OUT("afterALongOutageTheCandidateStandsAgainByItself"),
    KEEPS_A_CONCEDED_LEASE("aBlockedListenerDelaysTheSuccessorAtMostByTheStandDownBudget"),
    CONCEDING_RELEASES("theSuccessorIsToldAfterTheLeavingLeadersListenerHasReturned"),
    LETS_THE_SAME_ID_IN_AGAIN("theSameIdTwiceIsRefusedOrToldApart"),
    ONE_SEAT_FOR_ALL_ELECTIONS("twoElectionsOnOneConnectionDoNotDisturbEachOther"),
    FOLDS_NAMES("namesThatDifferALittleAreDifferentElections"),
    CUTS_NAMES_OFF("namesThatDifferALittleAreDifferentElections"),
    MANGLES_TEXT("unusualIdsAndMetadataComeBackAsTheyWere"),
    LOSES_METADATA("metadataReachesObservers"),
    LISTS_NOTHING("unusualNamesWorkOrAreRefusedWithAClearError", "deleteAndStandingAgainNeverLowersAToken"),
    FORGETS_STANDBYS("theListOfCandidatesHoldsTheLeaderAndTheStandbys"),
    SHOWS_A_VACANT_SEAT_AS_HELD("anObserverSeesEachChangeAndTheVacancyToo", "anObserverKnowsTheLeaderByItsIdAndToken"),
    SHOWS_EACH_RENEWAL_AS_A_TERM("anObserverKnowsTheLeaderByItsIdAndToken"),
    IGNORES_STAND_DOWN("anOperatorsStandDownMovesTheSeat"),
    STAND_DOWN_STICKS("anOrderToStandDownIsForThePresentLeaderOnly"),
    IGNORES_END("endTellsAllAndLetsNoneJoin"),
    DELETE_LOWERS_THE_TOKEN("deleteAndStandingAgainNeverLowersAToken"),
    DELETE_IS_NOT_TOLD("deleteTellsAStandbyToo"),
    RESTART_FORGETS("aServerRestartKeepsTheTokenRising"),
    RESTART_REFUSES_WHO_WAS_THERE("aLeaderOutlivesOrStandsAgainAfterAServerRestart"),
    PAUSE_FORGETS("aServerThatIsPausedForLongerThanTheLeaseCostsTheMandateAndNoMore"),
    LEAKS_A_ROW_PER_CLAIM("cyclesOfStandAndCloseLeaveNothingBehind"),
    LEAKS_MEMORY_PER_CLAIM("cyclesOfStandAndCloseLeaveNothingBehind"),
    LEAKS_A_FILE_PER_CLAIM("cyclesOfStandAndCloseLeaveNothingBehind"),
    LEAKS_A_THREAD_PER_CLIENT("aClosedClientLeavesNoThreadAndNoConnection"),
    LEAKS_A_FILE_PER_CLIENT("aClosedClientLeavesNoThreadAndNoConnection"),
    REFUSES_WITHOUT_SAYING_WHY("unusualNamesWorkOrAreRefusedWithAClearError");

    private final String facts;

    Fault(String... facts) {
        this.facts = String.join(" ", facts);
    }

    /** Returns the facts that must fail. */
    List<String> facts() {
        return List.of(facts.split(" "));
    }
}
