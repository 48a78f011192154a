# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_board_global_optspecs
    string join \n db= board= hermes-root= config= json v/verbose q/quiet now= h/help V/version
end

function __fish_board_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_board_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_board_using_subcommand
    set -l cmd (__fish_board_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c board -n "__fish_board_needs_command" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c board -n "__fish_board_needs_command" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c board -n "__fish_board_needs_command" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_needs_command" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_needs_command" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c board -n "__fish_board_needs_command" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_needs_command" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c board -n "__fish_board_needs_command" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_needs_command" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_needs_command" -s V -l version -d 'Print version'
complete -c board -n "__fish_board_needs_command" -f -a "init" -d 'Create a board in a new file or in a PostgreSQL database, with the tables of Hermes'
complete -c board -n "__fish_board_needs_command" -f -a "grant" -d 'Let roles of a PostgreSQL server work on its board, or watch it'
complete -c board -n "__fish_board_needs_command" -f -a "host" -d 'Show the hosts of a board that several share, or say that one will not come back'
complete -c board -n "__fish_board_needs_command" -f -a "copy" -d 'Copy a whole board to an empty one, and pause the old one: to move it'
complete -c board -n "__fish_board_needs_command" -f -a "prune" -d 'Remove tasks that are over for long, with their history, from a board of Watchbill'
complete -c board -n "__fish_board_needs_command" -f -a "upgrade" -d 'Bring the tables of a board in PostgreSQL to the version of this program'
complete -c board -n "__fish_board_needs_command" -f -a "lend" -d 'Let the Hermes of this host work on tasks of another board, and report there how they end'
complete -c board -n "__fish_board_needs_command" -f -a "add" -d 'Add a task'
complete -c board -n "__fish_board_needs_command" -f -a "list" -d 'List tasks in dispatch order'
complete -c board -n "__fish_board_needs_command" -f -a "show" -d 'Show one task with its attempts, history and comments'
complete -c board -n "__fish_board_needs_command" -f -a "claim" -d 'Claim the named task, or the next ready task of this worker'
complete -c board -n "__fish_board_needs_command" -f -a "run" -d 'Claim the next ready task of a profile, run a command on it, and record how it ended'
complete -c board -n "__fish_board_needs_command" -f -a "heartbeat" -d 'Record that the worker still works, and extend the claim'
complete -c board -n "__fish_board_needs_command" -f -a "comment" -d 'Add a comment for the next worker'
complete -c board -n "__fish_board_needs_command" -f -a "packet" -d 'Record the state of the work for the next attempt; without a value, print the last record'
complete -c board -n "__fish_board_needs_command" -f -a "block" -d 'Stop work on a task and ask for help with a card; only an orchestrator or the operator unblocks it'
complete -c board -n "__fish_board_needs_command" -f -a "complete" -d 'Finish a task, and make the tasks ready that waited for it'
complete -c board -n "__fish_board_needs_command" -f -a "reassign" -d 'Assign a task to another profile'
complete -c board -n "__fish_board_needs_command" -f -a "unblock" -d 'Make a blocked or held task ready, or todo while it waits for another task; without Hermes also one in triage'
complete -c board -n "__fish_board_needs_command" -f -a "protocol" -d 'Print the rules for a worker or an orchestrator, for an AGENTS.md, a system prompt or a skill'
complete -c board -n "__fish_board_needs_command" -f -a "link" -d 'Make one task wait for another'
complete -c board -n "__fish_board_needs_command" -f -a "unlink" -d 'Let one task no longer wait for another'
complete -c board -n "__fish_board_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c board -n "__fish_board_using_subcommand init" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c board -n "__fish_board_using_subcommand init" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand init" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c board -n "__fish_board_using_subcommand init" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand init" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand init" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c board -n "__fish_board_using_subcommand init" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand init" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand init" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand grant" -l worker -d 'Let this role do what a worker does (may be repeated)' -r
complete -c board -n "__fish_board_using_subcommand grant" -l watcher -d 'Let this role also watch, pause and speak for its host (may be repeated)' -r
complete -c board -n "__fish_board_using_subcommand grant" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c board -n "__fish_board_using_subcommand grant" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand grant" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c board -n "__fish_board_using_subcommand grant" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand grant" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand grant" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c board -n "__fish_board_using_subcommand grant" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand grant" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand grant" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand host; and not __fish_seen_subcommand_from list forget help" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand host; and not __fish_seen_subcommand_from list forget help" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c board -n "__fish_board_using_subcommand host; and not __fish_seen_subcommand_from list forget help" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand host; and not __fish_seen_subcommand_from list forget help" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand host; and not __fish_seen_subcommand_from list forget help" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c board -n "__fish_board_using_subcommand host; and not __fish_seen_subcommand_from list forget help" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c board -n "__fish_board_using_subcommand host; and not __fish_seen_subcommand_from list forget help" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand host; and not __fish_seen_subcommand_from list forget help" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand host; and not __fish_seen_subcommand_from list forget help" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand host; and not __fish_seen_subcommand_from list forget help" -f -a "list" -d 'List the hosts, with the time they were seen and heal ran there'
complete -c board -n "__fish_board_using_subcommand host; and not __fish_seen_subcommand_from list forget help" -f -a "forget" -d 'Say that a host will not come back: heal on another one requeues its work when the claims end'
complete -c board -n "__fish_board_using_subcommand host; and not __fish_seen_subcommand_from list forget help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c board -n "__fish_board_using_subcommand host; and __fish_seen_subcommand_from list" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand host; and __fish_seen_subcommand_from list" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c board -n "__fish_board_using_subcommand host; and __fish_seen_subcommand_from list" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand host; and __fish_seen_subcommand_from list" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand host; and __fish_seen_subcommand_from list" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c board -n "__fish_board_using_subcommand host; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c board -n "__fish_board_using_subcommand host; and __fish_seen_subcommand_from list" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand host; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand host; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand host; and __fish_seen_subcommand_from forget" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand host; and __fish_seen_subcommand_from forget" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c board -n "__fish_board_using_subcommand host; and __fish_seen_subcommand_from forget" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand host; and __fish_seen_subcommand_from forget" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand host; and __fish_seen_subcommand_from forget" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c board -n "__fish_board_using_subcommand host; and __fish_seen_subcommand_from forget" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c board -n "__fish_board_using_subcommand host; and __fish_seen_subcommand_from forget" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand host; and __fish_seen_subcommand_from forget" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand host; and __fish_seen_subcommand_from forget" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand host; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the hosts, with the time they were seen and heal ran there'
complete -c board -n "__fish_board_using_subcommand host; and __fish_seen_subcommand_from help" -f -a "forget" -d 'Say that a host will not come back: heal on another one requeues its work when the claims end'
complete -c board -n "__fish_board_using_subcommand host; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c board -n "__fish_board_using_subcommand copy" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand copy" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c board -n "__fish_board_using_subcommand copy" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand copy" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand copy" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c board -n "__fish_board_using_subcommand copy" -l leave-running -d 'Copy although workers are at work; running tasks are ready at TO'
complete -c board -n "__fish_board_using_subcommand copy" -s n -l dry-run -d 'Print what would be copied, and change nothing'
complete -c board -n "__fish_board_using_subcommand copy" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c board -n "__fish_board_using_subcommand copy" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand copy" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand copy" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand prune" -l older-than -d 'Remove what was not written to for this long, at least 7d' -r
complete -c board -n "__fish_board_using_subcommand prune" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand prune" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c board -n "__fish_board_using_subcommand prune" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand prune" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand prune" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c board -n "__fish_board_using_subcommand prune" -s n -l dry-run -d 'Print how much would be removed, and change nothing'
complete -c board -n "__fish_board_using_subcommand prune" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c board -n "__fish_board_using_subcommand prune" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand prune" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand prune" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand upgrade" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c board -n "__fish_board_using_subcommand upgrade" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand upgrade" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c board -n "__fish_board_using_subcommand upgrade" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand upgrade" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand upgrade" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c board -n "__fish_board_using_subcommand upgrade" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand upgrade" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand upgrade" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand lend" -l from -d 'The board that lends: postgres://HOST/DATABASE, or a file of `board init`' -r -F
complete -c board -n "__fish_board_using_subcommand lend" -l assignee -d 'Claim the ready tasks of this profile, which must exist on the Hermes board' -r
complete -c board -n "__fish_board_using_subcommand lend" -l onto -d 'The Hermes board that gets the tasks: its slug, such as default, or its file' -r -F
complete -c board -n "__fish_board_using_subcommand lend" -l most -d 'Have at most this many tasks of the profile open at the same time; 0 claims nothing new' -r
complete -c board -n "__fish_board_using_subcommand lend" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand lend" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c board -n "__fish_board_using_subcommand lend" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand lend" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand lend" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c board -n "__fish_board_using_subcommand lend" -s n -l dry-run -d 'Print what would be done, and change nothing'
complete -c board -n "__fish_board_using_subcommand lend" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c board -n "__fish_board_using_subcommand lend" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand lend" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand lend" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand add" -l body -d 'Set the text of the task' -r
complete -c board -n "__fish_board_using_subcommand add" -l body-file -d 'Read the text from this file (- is standard input)' -r -F
complete -c board -n "__fish_board_using_subcommand add" -l assignee -d 'Assign the task to this profile' -r
complete -c board -n "__fish_board_using_subcommand add" -l workspace -d 'Let the worker work in this folder, such as a git worktree' -r -F
complete -c board -n "__fish_board_using_subcommand add" -l priority -d 'Set the priority; a higher number goes first' -r
complete -c board -n "__fish_board_using_subcommand add" -l parent -d 'Wait for this task (may be repeated)' -r
complete -c board -n "__fish_board_using_subcommand add" -l key -d 'Add the task only once: a second call with this key prints the first task' -r
complete -c board -n "__fish_board_using_subcommand add" -l max-retries -d 'Give up after this many failures [default: the board\'s limit]' -r
complete -c board -n "__fish_board_using_subcommand add" -l concern -d 'Scope: the one concern of the task' -r
complete -c board -n "__fish_board_using_subcommand add" -l in-scope -d 'Scope: a glob, path or package that the task may change (may be repeated)' -r
complete -c board -n "__fish_board_using_subcommand add" -l out-of-scope -d 'Scope: a glob, path or package that the task must not change (may be repeated)' -r
complete -c board -n "__fish_board_using_subcommand add" -l max-files -d 'Scope: most files that the task may change' -r
complete -c board -n "__fish_board_using_subcommand add" -l iterations -d 'Scope: expected number of agent iterations' -r
complete -c board -n "__fish_board_using_subcommand add" -l time-budget -d 'Scope: longest time of one attempt' -r
complete -c board -n "__fish_board_using_subcommand add" -l cost-budget -d 'Scope: highest cost of the whole task, in US dollars ($5)' -r
complete -c board -n "__fish_board_using_subcommand add" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand add" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c board -n "__fish_board_using_subcommand add" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand add" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand add" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c board -n "__fish_board_using_subcommand add" -l force -d 'Allow a profile that does not exist'
complete -c board -n "__fish_board_using_subcommand add" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c board -n "__fish_board_using_subcommand add" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand add" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand add" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand list" -l status -d 'List only tasks of this state (may be repeated) [default: every open state]' -r
complete -c board -n "__fish_board_using_subcommand list" -l assignee -d 'List only tasks of this profile' -r
complete -c board -n "__fish_board_using_subcommand list" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand list" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c board -n "__fish_board_using_subcommand list" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand list" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand list" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c board -n "__fish_board_using_subcommand list" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c board -n "__fish_board_using_subcommand list" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand list" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand list" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand show" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand show" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c board -n "__fish_board_using_subcommand show" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand show" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand show" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c board -n "__fish_board_using_subcommand show" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c board -n "__fish_board_using_subcommand show" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand show" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand show" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand claim" -l worker -d 'Claim for this profile' -r
complete -c board -n "__fish_board_using_subcommand claim" -l pid -d 'Let heal watch this process; without it the claim ends without heartbeats' -r
complete -c board -n "__fish_board_using_subcommand claim" -l ttl -d 'Let the claim last this long without a heartbeat [default: board.claim_ttl, 15m]' -r
complete -c board -n "__fish_board_using_subcommand claim" -l log -d 'Let the watchers read the agent\'s log or transcript from this file, which may not exist yet' -r -F
complete -c board -n "__fish_board_using_subcommand claim" -l workspace -d 'Work in this folder if the task names none [default: the current folder, on a board without Hermes]' -r -F
complete -c board -n "__fish_board_using_subcommand claim" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand claim" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c board -n "__fish_board_using_subcommand claim" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand claim" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand claim" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c board -n "__fish_board_using_subcommand claim" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c board -n "__fish_board_using_subcommand claim" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand claim" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand claim" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand run" -l assignee -d 'Claim for this profile' -r
complete -c board -n "__fish_board_using_subcommand run" -l ttl -d 'Let the claim last this long without a heartbeat [default: board.claim_ttl, 15m]' -r
complete -c board -n "__fish_board_using_subcommand run" -l log -d 'Write the output of the command to this file; each worker needs its own [default: the board\'s log of the task]' -r -F
complete -c board -n "__fish_board_using_subcommand run" -l wait -d 'Wait until a task is ready, and look for one this often (1s to 1h)' -r
complete -c board -n "__fish_board_using_subcommand run" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand run" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c board -n "__fish_board_using_subcommand run" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand run" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand run" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c board -n "__fish_board_using_subcommand run" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c board -n "__fish_board_using_subcommand run" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand run" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand run" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand heartbeat" -l note -d 'Record what the worker does now' -r
complete -c board -n "__fish_board_using_subcommand heartbeat" -l ttl -d 'Extend the claim by this much [default: board.claim_ttl, 15m]' -r
complete -c board -n "__fish_board_using_subcommand heartbeat" -l run -d 'Only if this is still the open attempt [default: HERMES_KANBAN_RUN_ID, for the task in HERMES_KANBAN_TASK]' -r
complete -c board -n "__fish_board_using_subcommand heartbeat" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand heartbeat" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c board -n "__fish_board_using_subcommand heartbeat" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand heartbeat" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand heartbeat" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c board -n "__fish_board_using_subcommand heartbeat" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c board -n "__fish_board_using_subcommand heartbeat" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand heartbeat" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand heartbeat" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand comment" -l author -d 'The author of the comment' -r
complete -c board -n "__fish_board_using_subcommand comment" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand comment" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c board -n "__fish_board_using_subcommand comment" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand comment" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand comment" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c board -n "__fish_board_using_subcommand comment" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c board -n "__fish_board_using_subcommand comment" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand comment" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand comment" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand packet" -l mission -d 'The goal of the task, in one sentence' -r
complete -c board -n "__fish_board_using_subcommand packet" -l plan -d 'The file with your plan' -r
complete -c board -n "__fish_board_using_subcommand packet" -l verified -d 'The last step that you verified, and how' -r
complete -c board -n "__fish_board_using_subcommand packet" -l step -d 'The current step' -r
complete -c board -n "__fish_board_using_subcommand packet" -l next -d 'The next step' -r
complete -c board -n "__fish_board_using_subcommand packet" -l blockers -d 'What blocks the work' -r
complete -c board -n "__fish_board_using_subcommand packet" -l run -d 'Only if this is still the open attempt [default: HERMES_KANBAN_RUN_ID, for the task in HERMES_KANBAN_TASK]' -r
complete -c board -n "__fish_board_using_subcommand packet" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand packet" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c board -n "__fish_board_using_subcommand packet" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand packet" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand packet" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c board -n "__fish_board_using_subcommand packet" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c board -n "__fish_board_using_subcommand packet" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand packet" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand packet" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand block" -l type -d 'Write a card of this type: one of the six below' -r
complete -c board -n "__fish_board_using_subcommand block" -l completed -d 'On the card: what is done' -r
complete -c board -n "__fish_board_using_subcommand block" -l needs -d 'On the card: what others should do' -r
complete -c board -n "__fish_board_using_subcommand block" -l cannot-touch -d 'On the card: what you must not change [default: from the task\'s scope]' -r
complete -c board -n "__fish_board_using_subcommand block" -l kind -d 'Block without a card: dependency, needs_input, capability or transient' -r -f -a "dependency\t''
needs_input\t''
capability\t''
transient\t''"
complete -c board -n "__fish_board_using_subcommand block" -l run -d 'Only if this is still the open attempt [default: HERMES_KANBAN_RUN_ID, for the task in HERMES_KANBAN_TASK]' -r
complete -c board -n "__fish_board_using_subcommand block" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand block" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c board -n "__fish_board_using_subcommand block" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand block" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand block" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c board -n "__fish_board_using_subcommand block" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c board -n "__fish_board_using_subcommand block" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand block" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand block" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand complete" -l result -d 'Record the result' -r
complete -c board -n "__fish_board_using_subcommand complete" -l summary -d 'Record a summary for the next worker' -r
complete -c board -n "__fish_board_using_subcommand complete" -l metadata -d 'Record details as a JSON object, such as the decision of a distress card' -r
complete -c board -n "__fish_board_using_subcommand complete" -l run -d 'Only if this is still the open attempt [default: HERMES_KANBAN_RUN_ID, for the task in HERMES_KANBAN_TASK]' -r
complete -c board -n "__fish_board_using_subcommand complete" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand complete" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c board -n "__fish_board_using_subcommand complete" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand complete" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand complete" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c board -n "__fish_board_using_subcommand complete" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c board -n "__fish_board_using_subcommand complete" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand complete" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand complete" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand reassign" -l reason -d 'Record the reason' -r
complete -c board -n "__fish_board_using_subcommand reassign" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand reassign" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c board -n "__fish_board_using_subcommand reassign" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand reassign" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand reassign" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c board -n "__fish_board_using_subcommand reassign" -l force -d 'Allow a profile that does not exist'
complete -c board -n "__fish_board_using_subcommand reassign" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c board -n "__fish_board_using_subcommand reassign" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand reassign" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand reassign" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand unblock" -l reason -d 'Record the reason; the next worker reads it' -r
complete -c board -n "__fish_board_using_subcommand unblock" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand unblock" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c board -n "__fish_board_using_subcommand unblock" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand unblock" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand unblock" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c board -n "__fish_board_using_subcommand unblock" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c board -n "__fish_board_using_subcommand unblock" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand unblock" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand unblock" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand protocol" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand protocol" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c board -n "__fish_board_using_subcommand protocol" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand protocol" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand protocol" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c board -n "__fish_board_using_subcommand protocol" -l skill -d 'Print a SKILL.md, with name and description at its head'
complete -c board -n "__fish_board_using_subcommand protocol" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c board -n "__fish_board_using_subcommand protocol" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand protocol" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand protocol" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c board -n "__fish_board_using_subcommand link" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand link" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c board -n "__fish_board_using_subcommand link" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand link" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand link" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c board -n "__fish_board_using_subcommand link" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c board -n "__fish_board_using_subcommand link" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand link" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand link" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand unlink" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand unlink" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c board -n "__fish_board_using_subcommand unlink" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand unlink" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand unlink" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c board -n "__fish_board_using_subcommand unlink" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c board -n "__fish_board_using_subcommand unlink" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand unlink" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand unlink" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "init" -d 'Create a board in a new file or in a PostgreSQL database, with the tables of Hermes'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "grant" -d 'Let roles of a PostgreSQL server work on its board, or watch it'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "host" -d 'Show the hosts of a board that several share, or say that one will not come back'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "copy" -d 'Copy a whole board to an empty one, and pause the old one: to move it'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "prune" -d 'Remove tasks that are over for long, with their history, from a board of Watchbill'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "upgrade" -d 'Bring the tables of a board in PostgreSQL to the version of this program'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "lend" -d 'Let the Hermes of this host work on tasks of another board, and report there how they end'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "add" -d 'Add a task'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "list" -d 'List tasks in dispatch order'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "show" -d 'Show one task with its attempts, history and comments'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "claim" -d 'Claim the named task, or the next ready task of this worker'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "run" -d 'Claim the next ready task of a profile, run a command on it, and record how it ended'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "heartbeat" -d 'Record that the worker still works, and extend the claim'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "comment" -d 'Add a comment for the next worker'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "packet" -d 'Record the state of the work for the next attempt; without a value, print the last record'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "block" -d 'Stop work on a task and ask for help with a card; only an orchestrator or the operator unblocks it'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "complete" -d 'Finish a task, and make the tasks ready that waited for it'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "reassign" -d 'Assign a task to another profile'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "unblock" -d 'Make a blocked or held task ready, or todo while it waits for another task; without Hermes also one in triage'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "protocol" -d 'Print the rules for a worker or an orchestrator, for an AGENTS.md, a system prompt or a skill'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "link" -d 'Make one task wait for another'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "unlink" -d 'Let one task no longer wait for another'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c board -n "__fish_board_using_subcommand help; and __fish_seen_subcommand_from host" -f -a "list" -d 'List the hosts, with the time they were seen and heal ran there'
complete -c board -n "__fish_board_using_subcommand help; and __fish_seen_subcommand_from host" -f -a "forget" -d 'Say that a host will not come back: heal on another one requeues its work when the claims end'
