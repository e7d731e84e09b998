package zkbridge.clients.common;

/** One scenario: what it says is the same on every run against one server. */
public interface Scenario {
    void run(Script s) throws Exception;
}
