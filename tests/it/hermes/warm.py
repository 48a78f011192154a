"""Runs Hermes' command line in forks of one process that has read the libraries it needs.

Hermes' own code is read anew in each fork, with the environment of the call.
"""

import contextlib
import importlib
import importlib.metadata
import json
import os
import runpy
import select
import signal
import socket
import sys
import threading
import time


def run(script, args):
    sys.argv = [script, *args]
    sys.path[0] = os.path.dirname(script)
    runpy.run_path(script, run_name="__main__")


def takes(fd, path):
    opened = os.open(path, os.O_RDWR)
    os.dup2(opened, fd)
    os.close(opened)


def libraries(script):
    """The modules that a call reads, without Hermes' own."""
    own = {"__main__"}
    for package in importlib.metadata.distributions():
        if package.metadata["Name"].startswith("hermes-agent"):
            own.update(package.read_text("top_level.txt").split())
    read, write = os.pipe()
    if os.fork() == 0:
        takes(1, os.devnull)
        takes(2, os.devnull)
        try:
            run(script, ["kanban", "list"])
        finally:
            names = [name for name in sys.modules if name.split(".")[0] not in own]
            with open(write, "w") as told:
                json.dump(sorted(names), told)
            os._exit(0)
    os.close(write)
    names = json.load(open(read))
    os.wait()
    return names


def asked(place):
    """In a fork of its own, what is asked for next. The call is answered when that fork has ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(place)
        server.listen(64)
        print("ready", flush=True)
        while True:
            if sys.stdin in select.select([server, sys.stdin], [], [])[0]:
                sys.exit()  # the tests are over
            link, _ = server.accept()
            if os.fork():
                link.close()
                continue
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            with link, link.makefile() as lines:
                call = json.loads(lines.readline())
                child = os.fork()
                if child:
                    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                    link.sendall(str(code).encode())
                    os._exit(0)
                return call


def main(script, place):
    for name in libraries(script):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    assert threading.active_count() == 1
    call = asked(place)
    for fd, path in enumerate([os.devnull, call["out"], call["err"]]):
        takes(fd, path)
    os.chdir(call["cwd"])
    # As Python itself does at a start without a locale.
    locale = {"LC_CTYPE": os.environ["LC_CTYPE"]} if "LC_CTYPE" in os.environ else {}
    os.environ.clear()
    os.environ.update(locale | call["env"])
    time.tzset()
    run(script, call["args"])


main(*sys.argv[1:])
