"""Runs one script: scripts.py <name> relay=host:port direct=host:port."""

import importlib
import logging
import sys

from transcript import Script


def main():
    name = sys.argv[1]
    options = dict(argument.split("=", 1) for argument in sys.argv[2:])
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    script = Script(name, options["relay"], options["direct"])
    importlib.import_module(name).run(script)
    script.close()
    print("END", flush=True)


main()
