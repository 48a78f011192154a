"""Hermes' own code for one home, warm: makes, claims and blocks tasks as its command line does, and ticks as its gateway
does. One line of JSON in, one out: [command, arguments]."""

import contextlib
import fcntl
import importlib
import json
import os
import socket
import sqlite3
import sys

from hermes_cli import kanban_db as kb

how, names = sys.argv[1:]
# Hermes 0.22 keeps some of it in modules of their own.
for part in ("connect", "dispatch"):
    with contextlib.suppress(ImportError):
        module = vars(importlib.import_module(f"hermes_cli.kanban_db_{part}"))
        vars(kb).update({name: value for name, value in module.items() if name not in vars(kb)})


@contextlib.contextmanager
def alone_on_the_board():
    """Hermes 0.19 loses acknowledged writes where two of its processes meet. That is an incident of its own."""
    with open(kb.kanban_home() / "turns", "a") as turns:
        fcntl.flock(turns, fcntl.LOCK_EX)
        yield


def locked():
    """As a gateway does from its start to its end."""
    place = kb.kanban_home() / "kanban" / ".dispatcher.lock"
    place.parent.mkdir(parents=True, exist_ok=True)
    handle = open(place, "a+")
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return handle


def create(id, **more):
    # A given id: what is scattered by it is the same in every run.
    kb._new_task_id = lambda: id
    with kb.connect_closing() as conn:
        return kb.create_task(conn, title="Count the lanterns", **more)


def call(name, *arguments, **more):
    with kb.connect_closing() as conn:
        got = getattr(kb, name)(conn, *arguments, **more)
        return got if isinstance(got, (bool, int, str, list, type(None))) else None


def tick(dry=False):
    # The 4 hours are the gateway's; the command line leaves that check out.
    stale = 14400 if how == "gateway" else 0
    try:
        with alone_on_the_board(), kb.connect_closing() as conn:
            r = kb.dispatch_once(conn, stale_timeout_seconds=stale, dry_run=dry)
    except sqlite3.DatabaseError as e:
        # Hermes 0.19 looks at the file after each commit and takes a checkpoint in its midst for damage.
        assert "torn-extend" in str(e) or "locked" in str(e), e
        return []
    return [task for task, _, _ in r.spawned]


def once(dry=False):
    """A tick of a process of its own, as cron starts `hermes kanban dispatch`: nobody waits for its workers."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.write(write, json.dumps(tick(dry)).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as said:
        text = said.read()
    os.waitpid(child, 0)
    return json.loads(text)


if names == "words":
    # Where time is made to pass this process is younger than its own claims, as if it were another one by now.
    kb._claimer_id = lambda: f"{socket.gethostname()}:gateway"
kb.init_db()
lock = locked() if how == "gateway" else None
print(json.dumps("ready"), flush=True)
for line in sys.stdin:
    command, arguments = json.loads(line)
    if command == "create":
        said = create(**arguments)
    elif command == "tick":
        said = tick(**arguments) if how == "gateway" else once(**arguments)
    else:
        said = call(command, *arguments)
    print(json.dumps(said), flush=True)
