package zkbridge.clients.since37;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.zookeeper.data.ClientInfo;
import zkbridge.clients.common.Client;
import zkbridge.clients.common.Scenario;
import zkbridge.clients.common.Script;

/** whoAmI, which came with 3.7. */
public final class Whoami implements Scenario {
    @Override
    public void run(Script s) throws Exception {
        Client c = s.client();
        s.attempt("at first", () -> who(c));
        c.zk.addAuthInfo("digest", "u:p".getBytes());
        s.attempt("as a user", () -> who(c));
        c.zk.addAuthInfo("digest", "v:q".getBytes());
        s.attempt("as two", () -> who(c));
    }

    private static List<String> who(Client c) throws Exception {
        List<String> out = new ArrayList<>();
        for (ClientInfo info : c.zk.whoAmI()) {
            out.add(info.getAuthScheme() + ":" + info.getUser());
        }
        Collections.sort(out);
        return out;
    }
}
