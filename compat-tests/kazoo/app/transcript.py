"""What the scripts have in common: clients, a transcript, and faults.

A script prints what a client sees as lines that begin with "> ". They hold
nothing that differs from run to run, so that the lines of two servers can be
compared one by one. A line "DO fault" asks the driver of the test to do
something to the network; the driver answers "done".
"""

import sys
import threading
import time

from kazoo.client import KazooClient
from kazoo.retry import KazooRetry
from kazoo.security import OPEN_ACL_UNSAFE

SESSION_TIMEOUT = 4.0  # s, asked for by every client
PATIENCE = 40.0  # s, how long something may take before the script gives up


class Script:
    """One script's connection to the driver and its clients."""

    def __init__(self, name, relay, direct):
        self.root = "/kazoo-" + name
        self._relay = relay
        self._direct = direct
        self._clients = []
        self._fences = 0

    def say(self, text):
        print("> " + text, flush=True)

    def do(self, fault):
        """Has the driver cut, refuse or accept connections through the relay."""
        print("DO " + fault, flush=True)
        answer = sys.stdin.readline().strip()
        if answer != "done":
            raise RuntimeError("the driver answers %r to %r" % (answer, fault))

    def client(self, relay=False, **options):
        """A started client; through the relay it can be cut off."""
        client = KazooClient(
            hosts=self._relay if relay else self._direct,
            timeout=SESSION_TIMEOUT,
            connection_retry=KazooRetry(max_tries=-1, delay=0.1, backoff=1, max_delay=0.3),
            **options,
        )
        client.start(timeout=PATIENCE)
        self._clients.append(client)
        return client

    def close(self):
        for client in self._clients:
            client.stop()
            client.close()

    def attempt(self, what, call, *args, **options):
        """Calls, and says what comes of it; gives the result or the exception."""
        try:
            result = call(*args, **options)
        except Exception as error:  # the kind of exception is the outcome
            self.say("%s -> %s" % (what, type(error).__name__))
            return error
        self.say("%s -> %s" % (what, render(result)))
        return result

    def wait(self, what, condition):
        """Waits until the condition holds; what says which one, for a failure."""
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError("waited %d s in vain until %s" % (PATIENCE, what))
            time.sleep(0.01)

    def fence(self, client):
        """Returns when every event that the server had for client is handled.

        Events come in order and one thread handles them: the event of a node
        that is made now comes after all of them.
        """
        self._fences += 1
        path = "%s-fence/%d" % (self.root, self._fences)
        client.ensure_path(self.root + "-fence")
        seen = threading.Event()
        client.exists(path, watch=lambda event: seen.set())
        client.create(path)
        if not seen.wait(PATIENCE):
            raise RuntimeError("no event for a node that was created")


def render(value):
    """A result as text, without what differs from run to run."""
    if hasattr(value, "czxid"):
        return stat(value)
    if isinstance(value, tuple):
        return "(%s)" % ", ".join(render(v) for v in value)
    if isinstance(value, list):
        return "[%s]" % ", ".join(render(v) for v in value)
    if isinstance(value, Exception):
        return type(value).__name__
    return repr(value)


def stat(s, session=None):
    """The fields of a Stat that are the same in every run."""
    owner = "none" if s.ephemeralOwner == 0 else "somebody"
    if session is not None and s.ephemeralOwner == session:
        owner = "own session"
    order = "czxid%smzxid czxid%spzxid" % (sign(s.czxid, s.mzxid), sign(s.czxid, s.pzxid))
    times = "ctime%smtime" % ("<=" if s.ctime <= s.mtime else ">")
    return "Stat(v%d cv%d av%d length %d children %d owner %s, %s %s)" % (
        s.version,
        s.cversion,
        s.aversion,
        s.dataLength,
        s.numChildren,
        owner,
        order,
        times,
    )


def sign(a, b):
    return "=" if a == b else "<" if a < b else ">"


class Events:
    """A watch function that remembers the events it got."""

    def __init__(self):
        self.seen = []

    def __call__(self, event):
        self.seen.append("%s %s %s" % (event.type, event.state, event.path))

    def take(self):
        """The events since the last time."""
        taken, self.seen = self.seen, []
        return "; ".join(taken) or "nothing"


class States:
    """The connection states that a client went through."""

    def __init__(self, client):
        self.seen = []
        client.add_listener(self._add)

    def _add(self, state):
        self.seen.append(str(state))

    def take(self):
        taken, self.seen = self.seen, []
        return " ".join(taken) or "none"


__all__ = ["Events", "OPEN_ACL_UNSAFE", "PATIENCE", "SESSION_TIMEOUT", "Script", "States", "render", "stat"]
