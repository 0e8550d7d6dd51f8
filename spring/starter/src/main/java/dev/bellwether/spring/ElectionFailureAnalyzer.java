package dev.bellwether.spring;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Says what to do where an application does not start for lack of its elections. */
final class ElectionFailureAnalyzer extends AbstractFailureAnalyzer<ElectionException> {

    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, ElectionException cause) {
        return new FailureAnalysis("Bellwether cannot hold elections: " + cause.getMessage(), action(cause), cause);
    }

    private static String action(ElectionException cause) {
        if (cause instanceof UnavailableException) {
            return "Start the infrastructure, or correct its address (bellwether.uri, or the settings of the"
                    + " application's client). To start the application without it, set"
                    + " bellwether.connect-lazily=true: it then stands by until there is an answer, and its health"
                    + " says so.";
        }
        if (cause instanceof AccessRefusedException) {
            return "Correct user and password (bellwether.uri, or the settings of the application's client), or"
                    + " grant the right that is named above. bellwether doctor --on URI says what is missing.";
        }
        return "Correct what is named above: bellwether.uri, or the settings under bellwether.elections, are the"
                + " usual places.";
    }
}
