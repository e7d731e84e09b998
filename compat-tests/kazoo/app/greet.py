"""An application on kazoo, as a user would write it: provider or consumer, then
options as key=value.

A provider listens on host:port and keeps an ephemeral node of that name in a
directory: it registers again when its session was lost. A consumer follows the
directory with a ChildrenWatch and calls one of the names in it.
"""

import logging
import os
import socket
import sys
import threading

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError
from kazoo.protocol.states import KazooState
from kazoo.retry import KazooRetry

SESSION_TIMEOUT = 10.0  # s
_say = threading.Lock()


def say(line):
    with _say:
        print(line, flush=True)


def connect(address):
    client = KazooClient(
        hosts=address,
        timeout=SESSION_TIMEOUT,
        connection_retry=KazooRetry(max_tries=-1, delay=0.2, backoff=1, max_delay=0.5),
    )
    client.add_listener(lambda state: say("STATE %s" % state))
    client.start(timeout=60)
    return client


def provider(client, options):
    host, port = options["host"], int(options["port"])
    server = socket.create_server((host, port))
    threading.Thread(target=serve, args=(server, port), daemon=True).start()
    path = "%s/%s:%d" % (options["dir"], host, port)
    lost = threading.Event()

    def register():
        try:
            client.retry(client.create, path, b"at %d" % port, ephemeral=True, makepath=True)
        except NodeExistsError:
            # Of a session that the server has not ended yet, or a create that was
            # done although its reply was lost.
            stat = client.exists(path)
            if stat and stat.ephemeralOwner != client.client_id[0]:
                client.delete(path)
                register()

    def listener(state):
        if state == KazooState.LOST:
            lost.set()
        elif state == KazooState.CONNECTED and lost.is_set():
            lost.clear()
            client.handler.spawn(register)

    register()
    client.add_listener(listener)
    say("READY provider %d pid %d" % (port, os.getpid()))
    commands(lambda: None)
    client.delete(path)


def serve(server, port):
    while True:
        connection, _ = server.accept()
        with connection:
            word = connection.makefile("r").readline().strip()
            connection.sendall(("hello-%s from %d\n" % (word, port)).encode())


def consumer(client, options):
    providers = []

    def changed(children):
        providers[:] = sorted(children)
        say("PROVIDERS %d [%s]" % (len(children), " ".join(sorted(children))))

    client.ensure_path(options["dir"])
    client.ChildrenWatch(options["dir"], changed)
    say("READY consumer pid %d" % os.getpid())

    def call():
        if not providers:
            say("CALL fail no provider")
            return
        host, port = providers[0].rsplit(":", 1)
        try:
            with socket.create_connection((host, int(port)), timeout=5) as connection:
                connection.sendall(b"you\n")
                say("CALL ok %s" % connection.makefile("r").readline().strip())
        except OSError as error:
            say("CALL fail %s" % error)

    commands(call)


def commands(call):
    """Runs call at every line "call"; returns at "exit" or at the end of the input."""
    for line in sys.stdin:
        if line.strip() == "exit":
            return
        call()


def main():
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    options = dict(argument.split("=", 1) for argument in sys.argv[2:])
    client = connect(options["zookeeper"])
    {"provider": provider, "consumer": consumer}[sys.argv[1]](client, options)
    client.stop()
    client.close()


main()
