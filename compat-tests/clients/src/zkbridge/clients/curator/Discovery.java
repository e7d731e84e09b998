package zkbridge.clients.curator;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.x.discovery.ServiceCache;
import org.apache.curator.x.discovery.ServiceDiscovery;
import org.apache.curator.x.discovery.ServiceDiscoveryBuilder;
import org.apache.curator.x.discovery.ServiceInstance;
import org.apache.curator.x.discovery.ServiceProvider;
import org.apache.curator.x.discovery.details.ServiceCacheListener;
import org.apache.zookeeper.data.Stat;
import zkbridge.clients.common.Scenario;
import zkbridge.clients.common.Script;

/** Service discovery: instances, ServiceCache, ServiceProvider, and over a cut. */
public final class Discovery implements Scenario {
    @Override
    public void run(Script s) throws Exception {
        Side a = Side.exposed(s, Script.LONG);
        Side b = Side.of(s);
        String base = s.root + "/services";
        ServiceDiscovery<String> da = s.track(ServiceDiscoveryBuilder.builder(String.class).client(a.curator).basePath(base).build());
        da.start();
        ServiceDiscovery<String> db = s.track(ServiceDiscoveryBuilder.builder(String.class).client(b.curator).basePath(base).build());
        db.start();
        Heard heard = new Heard();
        ServiceCache<String> cache = s.track(db.serviceCacheBuilder().name("greet").build());
        cache.addListener(new ServiceCacheListener() {
            @Override
            public void cacheChanged() {
                heard.add("changed");
            }

            @Override
            public void stateChanged(CuratorFramework client, ConnectionState state) {
                heard.add(state.toString());
            }
        });
        cache.start();
        s.say("at first: " + ids(cache.getInstances()));
        s.attempt("query of nothing", () -> ids(db.queryForInstances("none")));
        ServiceInstance<String> one = instance("one", 8001);
        ServiceInstance<String> two = instance("two", 8002);
        da.registerService(one);
        s.await("the cache has one", () -> ids(cache.getInstances()).equals("[one:8001:p-one]"));
        da.registerService(two);
        s.await("the cache has two", () -> cache.getInstances().size() == 2);
        s.say("cache: " + ids(cache.getInstances()) + ", told " + heard.has("changed"));
        s.attempt("names", () -> new ArrayList<>(db.queryForNames()));
        s.attempt("query", () -> ids(db.queryForInstances("greet")));
        s.attempt("query of one", () -> db.queryForInstance("greet", "two").getPort());
        s.attempt("nodes", () -> b.children(base + "/greet"));
        s.attempt("Stat of a node", () -> b.curator.checkExists().forPath(base + "/greet/one").getEphemeralOwner() != 0);
        ServiceInstance<String> changed = instance("two", 9002);
        da.updateService(changed);
        s.await("the cache has the change", () -> ids(cache.getInstances()).contains("two:9002"));
        s.say("updated: " + ids(cache.getInstances()));
        ServiceProvider<String> provider = s.track(db.serviceProviderBuilder().serviceName("greet").build());
        provider.start();
        s.await("the provider knows both", () -> provider.getAllInstances().size() == 2);
        s.say("provider: " + ids(new ArrayList<>(provider.getAllInstances())) + ", gives one " + (provider.getInstance() != null));

        long first = made(b, base + "/greet/one");
        long second = made(b, base + "/greet/two");
        s.inflict("refuse");
        s.await("Curator notices", () -> a.is(ConnectionState.SUSPENDED));
        s.inflict("accept");
        s.await("Curator is back", () -> a.is(ConnectionState.RECONNECTED));
        // Registered again: each node is deleted and made anew, one after the other.
        s.await("both are registered again", () -> made(b, base + "/greet/one") > first && made(b, base + "/greet/two") > second);
        s.await("the cache has both", () -> ids(cache.getInstances()).equals("[one:8001:p-one, two:9002:p-two]"));
        s.say("after a cut: the cache has both, states " + a.states());

        da.unregisterService(one);
        s.await("the cache lost one", () -> ids(cache.getInstances()).equals("[two:9002:p-two]"));
        da.close();
        s.await("the cache is empty", () -> cache.getInstances().isEmpty());
        s.attempt("in the end", () -> ids(db.queryForInstances("greet")));
    }

    /** The zxid that made a node, 0 while there is none. */
    private static long made(Side b, String path) throws Exception {
        Stat stat = b.curator.checkExists().forPath(path);
        return stat == null ? 0 : stat.getCzxid();
    }

    private static ServiceInstance<String> instance(String id, int port) throws Exception {
        return ServiceInstance.<String>builder().name("greet").id(id).address("192.0.2.1").port(port).payload("p-" + id).build();
    }

    private static String ids(java.util.Collection<ServiceInstance<String>> instances) {
        List<String> out = new ArrayList<>();
        for (ServiceInstance<String> i : instances) {
            out.add(i.getId() + ":" + i.getPort() + ":" + i.getPayload());
        }
        Collections.sort(out);
        return out.toString();
    }
}
