"""What the workers of the incidents do with the board, through Hermes' own code."""

import fcntl
import json
import os
import re
import sys

from hermes_cli import kanban_db as kb

try:
    from hermes_cli.kanban_db_connect import connect_closing  # 0.22
except ImportError:
    connect_closing = kb.connect_closing

what, task, run = sys.argv[1], os.environ["HERMES_KANBAN_TASK"], int(os.environ["HERMES_KANBAN_RUN_ID"])
# Never at the same time as the dispatcher or another worker: Hermes 0.19 loses writes then.
turns = open(kb.kanban_home() / "turns", "a")
fcntl.flock(turns, fcntl.LOCK_EX)
with connect_closing() as conn:
    if what == "works":
        kb.complete_task(conn, task, summary="did the work", expected_run_id=run)
    elif what == "decides":
        # An orchestrator that always gives the same answer, about the task that the card's title names.
        source = re.match(r"\[BLOCKED\] (t_[0-9a-f]+)", kb.get_task(conn, task).title)
        route = json.loads(sys.argv[2].replace("SOURCE", source.group(1))) if source else None
        kb.complete_task(conn, task, summary="decided", metadata={"route": route}, expected_run_id=run)
    elif what == "blocks":
        kb.block_task(conn, task, reason=sys.argv[2], kind=sys.argv[3], expected_run_id=run)
