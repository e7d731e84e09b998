package zkbridge.clients.curator;

import java.util.TreeSet;
import org.apache.curator.framework.recipes.cache.NodeCache;
import org.apache.curator.framework.recipes.cache.PathChildrenCache;
import org.apache.curator.framework.recipes.cache.TreeCache;
import org.apache.curator.framework.state.ConnectionState;
import zkbridge.clients.common.Scenario;
import zkbridge.clients.common.Script;

/** NodeCache, PathChildrenCache and TreeCache: what they tell and hold, and after a cut. */
@SuppressWarnings("deprecation")
public final class Caches implements Scenario {
    @Override
    public void run(Script s) throws Exception {
        Side c = Side.exposed(s, Script.LONG);
        Side other = Side.of(s);
        String r = s.root;
        other.create(r + "/a", "1");
        Heard node = new Heard();
        Heard path = new Heard();
        Heard tree = new Heard();

        NodeCache nodes = s.track(new NodeCache(c.curator, r + "/a"));
        nodes.getListenable().addListener(() -> node.add(nodes.getCurrentData() == null ? "gone" : Script.render(nodes.getCurrentData().getData())));
        nodes.start(false);
        node.expect(s, "NodeCache, at first", "\"1\"");
        PathChildrenCache paths = s.track(new PathChildrenCache(c.curator, r, true));
        paths.getListenable().addListener((client, event) -> path.add(event.getType()
            + (event.getData() == null ? "" : " " + event.getData().getPath() + " " + Script.render(event.getData().getData()))));
        paths.start(PathChildrenCache.StartMode.POST_INITIALIZED_EVENT);
        path.expect(s, "PathChildrenCache, at first", "INITIALIZED", "CHILD_ADDED " + r + "/a \"1\"");
        TreeCache trees = s.track(new TreeCache(c.curator, r));
        trees.getListenable().addListener((client, event) -> tree.add(event.getType()
            + (event.getData() == null ? "" : " " + event.getData().getPath() + " " + Script.render(event.getData().getData()))));
        trees.start();
        s.await("the TreeCache is full", () -> tree.has("INITIALIZED"));
        s.say("TreeCache, at first: " + tree.take().size());

        other.set(r + "/a", "2");
        node.expect(s, "NodeCache, set", "\"2\"");
        path.expect(s, "PathChildrenCache, set", "CHILD_UPDATED " + r + "/a \"2\"");
        tree.expect(s, "TreeCache, set", "NODE_UPDATED " + r + "/a \"2\"");
        other.create(r + "/b", "1");
        path.expect(s, "PathChildrenCache, created", "CHILD_ADDED " + r + "/b \"1\"");
        tree.expect(s, "TreeCache, created", "NODE_ADDED " + r + "/b \"1\"");
        other.create(r + "/b/c/d", "deep");
        tree.expect(s, "TreeCache, deep", "NODE_ADDED " + r + "/b/c/d \"deep\"");
        s.say("PathChildrenCache holds " + paths.getCurrentData().size() + ", TreeCache " + new TreeSet<>(trees.getCurrentChildren(r + "/b/c").keySet()));
        other.delete(r + "/b/c/d");
        tree.expect(s, "TreeCache, deleted", "NODE_REMOVED " + r + "/b/c/d \"deep\"");
        other.delete(r + "/a");
        node.expect(s, "NodeCache, deleted", "gone");
        path.expect(s, "PathChildrenCache, deleted", "CHILD_REMOVED " + r + "/a \"2\"");
        tree.expect(s, "TreeCache, deleted", "NODE_REMOVED " + r + "/a \"2\"");
        other.create(r + "/a", "3");
        node.expect(s, "NodeCache, created again", "\"3\"");
        path.expect(s, "PathChildrenCache, created again", "CHILD_ADDED " + r + "/a \"3\"");
        tree.expect(s, "TreeCache, created again", "NODE_ADDED " + r + "/a \"3\"");

        s.inflict("refuse");
        s.await("Curator notices", () -> c.is(ConnectionState.SUSPENDED));
        other.set(r + "/a", "4");
        other.create(r + "/x", "new");
        other.delete(r + "/b/c");
        s.inflict("accept");
        s.await("Curator is back", () -> c.is(ConnectionState.RECONNECTED));
        s.say("states: " + c.states());
        s.await("the caches are right", () -> node.has("\"4\"") && path.has("CHILD_ADDED " + r + "/x \"new\"") && path.has("CHILD_UPDATED " + r + "/a \"4\"")
            && tree.has("NODE_ADDED " + r + "/x \"new\"") && tree.has("NODE_UPDATED " + r + "/a \"4\"") && tree.has("NODE_REMOVED " + r + "/b/c \"\""));
        s.say("NodeCache after a cut: " + Script.render(nodes.getCurrentData().getData()));
        s.say("PathChildrenCache after a cut: " + paths.getCurrentData().size() + " " + Script.render(paths.getCurrentData(r + "/a").getData()));
        s.say("TreeCache after a cut: " + new TreeSet<>(trees.getCurrentChildren(r).keySet()) + " " + trees.getCurrentChildren(r + "/b"));
        node.take();
        path.take();
        tree.take();
        other.set(r + "/x", "5");
        s.await("they go on", () -> path.has("CHILD_UPDATED " + r + "/x \"5\"") && tree.has("NODE_UPDATED " + r + "/x \"5\""));
        s.say("they go on");
    }
}
