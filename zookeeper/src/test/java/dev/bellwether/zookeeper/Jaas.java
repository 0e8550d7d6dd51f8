package dev.bellwether.zookeeper;

import java.util.Map;
import java.util.TreeMap;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.Configuration;
import org.apache.zookeeper.server.auth.DigestLoginModule;
import org.jspecify.annotations.Nullable;

/**
 * What a JAAS file would say: sections with a user and a password each. In force for the whole process, until it is
 * closed.
 */
final class Jaas extends Configuration implements AutoCloseable {
    private final Map<String, Map<String, String>> sections = new TreeMap<>();

    Jaas() {
        Configuration.setConfiguration(this);
    }

    Jaas section(String name, String user, String password) {
        sections.put(name, Map.of("username", user, "password", password));
        return this;
    }

    @Override
    public AppConfigurationEntry @Nullable [] getAppConfigurationEntry(String name) {
        var options = sections.get(name);
        return options == null
                ? null
                : new AppConfigurationEntry[] {
                    new AppConfigurationEntry(
                            DigestLoginModule.class.getName(),
                            AppConfigurationEntry.LoginModuleControlFlag.REQUIRED,
                            options)
                };
    }

    @Override
    public void close() {
        Configuration.setConfiguration(null);
    }
}
