"""What kazoo sees through TLS. Arguments: host:port, authority, certificate, key."""

import sys
import threading

from kazoo.client import KazooClient
from kazoo.security import CREATOR_ALL_ACL

host, authority, certificate, key = sys.argv[1:]
client = KazooClient(host, timeout=20, use_ssl=True, ca=authority, certfile=certificate, keyfile=key)
client.start(timeout=20)
client.create("/kazoo-tls", b"x", acl=CREATOR_ALL_ACL)
print("acl", client.get_acls("/kazoo-tls")[0])
heard = threading.Event()
print("data", client.get("/kazoo-tls", watch=lambda e: (print("event", e.type, e.path), heard.set()))[0])
client.set("/kazoo-tls", b"y" * 500000)
heard.wait(10)
print("length", len(client.get("/kazoo-tls")[0]))
print("children", client.get_children("/kazoo-tls"))
client.delete("/kazoo-tls")
client.stop()
print("stopped")
