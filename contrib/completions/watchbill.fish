# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_watchbill_global_optspecs
    string join \n h/help V/version
end

function __fish_watchbill_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_watchbill_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_watchbill_using_subcommand
    set -l cmd (__fish_watchbill_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c watchbill -n "__fish_watchbill_needs_command" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_needs_command" -s V -l version -d 'Print version'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "heal" -d 'Requeue what dead workers left behind, reset crash loops, clear jams and leaked claims'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "synthesize-distress" -d 'Write the [BLOCKED] card for a worker that cannot, with the true cause and the evidence'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "route-blocked" -d 'Move work off providers that refuse it, carry out what orchestrators decide, end holds, close cards'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "budget-check" -d 'Compare work with its scope and budget, recommend splits, show what needs a person; changes no task\'s state'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "board" -d 'The hand of a worker or a person on a task board'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "coord" -d 'Agent sessions: spawn, watch, message, notify and abort them, each time in one pass'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "demo" -d 'Break a board in a temporary folder, with real processes, and heal it'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "match" -d 'Show line by line what is read out of a worker\'s log'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "providers" -d 'Show who works with which provider, how each stands, and what waits for it'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "why" -d 'Say why a task stands as it stands: the true cause, what every watcher would do with it now, and what a person can run'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "report" -d 'Say what happened to the boards since some hours: who is needed, what waits, what was healed, what was left alone'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "doctor" -d 'Look whether everything is in place for the watchers, and change nothing'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "timers" -d 'Have the watchers started by systemd or cron, and take that away again'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "check" -d 'Say in one line how it stands, with the exit codes of a monitoring plugin'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "pause" -d 'Stop all changes by watchers on a board, until a time or until `unpause`'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "unpause" -d 'End a pause'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "replay" -d 'Show what the watchers would have done under another policy, by what they saw'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "undo" -d 'Take back what a watcher did, where the board still is as it left it'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -l task -d 'Look at this task only' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -l plan -d 'Apply the steps of a plan made by --dry-run --json, under the same guards' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -l facts -d 'Decide on what an earlier pass saw (from --json -v), and change nothing' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -l metrics -d 'Leave what came of this pass in this file (*.prom), for the textfile collector of node_exporter' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -l print-packet -d 'Show what the next attempt at a task would be told, and write nothing' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -l print-prompt -d 'Show the whole prompt of the next attempt: the task\'s own text, then what it would be told' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -s n -l dry-run -d 'Look and say what would be done, and change nothing'
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -l list-checks -d 'Show every health check: its rule, what is done by default, and what is done here'
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -l task -d 'Look at this task only' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -l plan -d 'Apply the steps of a plan made by --dry-run --json, under the same guards' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -l facts -d 'Decide on what an earlier pass saw (from --json -v), and change nothing' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -l metrics -d 'Leave what came of this pass in this file (*.prom), for the textfile collector of node_exporter' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -s n -l dry-run -d 'Look and say what would be done, and change nothing'
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -l task -d 'Look at this task only' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -l plan -d 'Apply the steps of a plan made by --dry-run --json, under the same guards' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -l facts -d 'Decide on what an earlier pass saw (from --json -v), and change nothing' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -l metrics -d 'Leave what came of this pass in this file (*.prom), for the textfile collector of node_exporter' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -s n -l dry-run -d 'Look and say what would be done, and change nothing'
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l html -d 'Write the report as one page that needs no network, readable by you alone' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l task -d 'Look at this task only' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l plan -d 'Apply the steps of a plan made by --dry-run --json, under the same guards' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l facts -d 'Decide on what an earlier pass saw (from --json -v), and change nothing' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l metrics -d 'Leave what came of this pass in this file (*.prom), for the textfile collector of node_exporter' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l comment -d 'Leave one comment on a task for each threshold it went over'
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l distress -d 'Ask the orchestrator with a card about running work that is over its bounds, with a draft of a split'
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l lint -d 'Only list ready and running tasks whose scope is missing, contradictory, not understood or too broad, with the line to fix'
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -s n -l dry-run -d 'Look and say what would be done, and change nothing'
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "init" -d 'Make a board of our own in a new file, with the tables of Hermes'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "add" -d 'Add a task'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "list" -d 'List tasks in dispatch order'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "show" -d 'Show one task with its attempts, history and comments'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "claim" -d 'Take a task: the one named, or the next ready one for this worker'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "run" -d 'Claim the next ready task of a profile, run a command on it, and say how that ended'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "heartbeat" -d 'Say that the work goes on, and extend the claim'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "comment" -d 'Leave a note for whoever works on it next'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "packet" -d 'Record where the work stands, for whoever takes it up next; without a value: show what was recorded last'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "block" -d 'Stop the work and ask for help with a card; only an orchestrator or a person takes it up again'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "complete" -d 'Finish a task, and let those run that waited for it'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "reassign" -d 'Give a task to another profile'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "unblock" -d 'Set a blocked or parked task free: ready, or todo while it waits for another one'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "protocol" -d 'Print the rules for a worker or an orchestrator, for an AGENTS.md, a system prompt or a skill'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "link" -d 'Make one task wait for another'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from init" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from init" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from init" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from init" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from init" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from init" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from init" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from init" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from init" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l body -d 'The task\'s text' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l body-file -d 'Read the text from a file (- is standard input)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l assignee -d 'Who is to do it' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l workspace -d 'The folder it is worked on in, such as a git worktree' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l priority -d 'Higher goes first' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l parent -d 'It waits for this task (may be repeated)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l key -d 'Add it only once: a second call with the same key finds the first task' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l max-retries -d 'Failures after which it is given up [default: the board\'s]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l concern -d 'Scope: its one concern' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l in-scope -d 'Scope: a glob, path or package it may touch (may be repeated)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l out-of-scope -d 'Scope: what it must not touch (may be repeated)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l max-files -d 'Scope: most files it may change' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l iterations -d 'Scope: expected number of agent iterations' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l time-budget -d 'Scope: the longest one attempt should take' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l cost-budget -d 'Scope: what the whole task should cost at most, in US dollars ($5)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from list" -l status -d 'Only this state (may be repeated) [default: every open one]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from list" -l assignee -d 'Only this profile\'s' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from list" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from list" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from list" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from list" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from list" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from list" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from show" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from show" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from show" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from show" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from show" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from show" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from show" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from show" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -l worker -d 'The profile that works' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -l pid -d 'The worker\'s process, which heal then watches; without it the claim is a lease that heartbeats keep' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -l ttl -d 'How long the claim holds without a heartbeat [default: board.claim_ttl, 15m]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -l log -d 'The file the agent writes its log or transcript to, for the watchers to read; it may come later' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -l workspace -d 'The folder it is worked on in, where the task names none [default: on a board without Hermes the current folder]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from run" -l assignee -d 'Whose task' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from run" -l ttl -d 'How long the claim holds without a heartbeat [default: board.claim_ttl, 15m]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from run" -l log -d 'The file that takes what the command prints [default: the board\'s own log of the task]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from run" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from run" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from run" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from run" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from run" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from run" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from run" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from run" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from heartbeat" -l note -d 'What is being done' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from heartbeat" -l ttl -d 'Extend the claim by this much [default: board.claim_ttl, 15m]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from heartbeat" -l run -d 'Only if this is still the open run [default: HERMES_KANBAN_RUN_ID, for the task in HERMES_KANBAN_TASK]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from heartbeat" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from heartbeat" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from heartbeat" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from heartbeat" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from heartbeat" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from heartbeat" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from heartbeat" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from heartbeat" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from heartbeat" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from comment" -l author -d 'Who speaks' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from comment" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from comment" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from comment" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from comment" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from comment" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from comment" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from comment" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from comment" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from comment" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -l mission -d 'What the task comes to, in one sentence' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -l plan -d 'The file your plan is in' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -l verified -d 'The last step that is shown to be right, and how' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -l step -d 'The step you are at' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -l next -d 'The step after that' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -l blockers -d 'What stands in the way' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -l run -d 'Only if this is still the open run [default: HERMES_KANBAN_RUN_ID, for the task in HERMES_KANBAN_TASK]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -l type -d 'Ask for help with a card of this type: one of the six below' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -l completed -d 'On the card: what is done' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -l needs -d 'On the card: what somebody else should do' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -l cannot-touch -d 'On the card: what you must not touch [default: what the task\'s scope says]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -l kind -d 'A plain block without a card: dependency, needs_input, capability or transient' -r -f -a "dependency\t''
needs_input\t''
capability\t''
transient\t''"
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -l run -d 'Only if this is still the open run [default: HERMES_KANBAN_RUN_ID, for the task in HERMES_KANBAN_TASK]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from complete" -l result -d 'What came of it' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from complete" -l summary -d 'What the next worker should know' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from complete" -l metadata -d 'Details as a JSON object, such as the decision of a distress card' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from complete" -l run -d 'Only if this is still the open run [default: HERMES_KANBAN_RUN_ID, for the task in HERMES_KANBAN_TASK]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from complete" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from complete" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from complete" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from complete" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from complete" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from complete" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from complete" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from complete" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from complete" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from reassign" -l reason -d 'Why' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from reassign" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from reassign" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from reassign" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from reassign" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from reassign" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from reassign" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from reassign" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from reassign" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from reassign" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unblock" -l reason -d 'Why; the next worker reads it' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unblock" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unblock" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unblock" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unblock" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unblock" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unblock" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unblock" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unblock" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unblock" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from protocol" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from protocol" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from protocol" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from protocol" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from protocol" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from protocol" -l skill -d 'As a SKILL.md, with name and description at its head'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from protocol" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from protocol" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from protocol" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from protocol" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from link" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from link" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from link" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from link" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from link" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from link" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from link" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from link" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from link" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "init" -d 'Make a board of our own in a new file, with the tables of Hermes'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "add" -d 'Add a task'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "list" -d 'List tasks in dispatch order'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show one task with its attempts, history and comments'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "claim" -d 'Take a task: the one named, or the next ready one for this worker'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "run" -d 'Claim the next ready task of a profile, run a command on it, and say how that ended'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "heartbeat" -d 'Say that the work goes on, and extend the claim'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "comment" -d 'Leave a note for whoever works on it next'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "packet" -d 'Record where the work stands, for whoever takes it up next; without a value: show what was recorded last'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "block" -d 'Stop the work and ask for help with a card; only an orchestrator or a person takes it up again'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "complete" -d 'Finish a task, and let those run that waited for it'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "reassign" -d 'Give a task to another profile'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "unblock" -d 'Set a blocked or parked task free: ready, or todo while it waits for another one'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "protocol" -d 'Print the rules for a worker or an orchestrator, for an AGENTS.md, a system prompt or a skill'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "link" -d 'Make one task wait for another'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -l server -d 'The server to ask where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "spawn" -d 'Start a session for a task, in a working tree of its own; prints the session'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "status" -d 'Show the sessions that were spawned, and what their servers say of them'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "message" -d 'Say something to a session'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "notify" -d 'Tell the coordinator of a session something'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "abort" -d 'Stop a session'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "detect" -d 'Find what is wrong with sessions'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "events" -d 'Show what happened to sessions, as the board recorded it'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l task -d 'The task [default: a new one is added]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l runtime -d 'What runs the session' -r -f -a "opencode\t'By the server of --server'
claude\t'Claude Code, as a command: claude -p'
codex\t'Codex, as a command: codex exec'"
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l branch -d 'The branch to work on [default: wt/ and the task\'s id]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l name -d 'The folder\'s name below .worktrees of the repository [default: the task\'s id]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l title -d 'The session\'s title; without --task also the new task\'s' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l agent -d 'The agent of the runtime that works [default: the runtime\'s own]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l prompt -d 'What to do, in the place of the task\'s text; without --task also the new task\'s text' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l parent -d 'Who coordinates the new session: a session, person:NAME or script:NAME' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l repo -d 'A folder of the repository to work in [default: this one]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l server -d 'The server to ask where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from status" -l parent -d 'Only what this session, person:NAME or script:NAME spawned' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from status" -l server -d 'The server to ask where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from status" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from status" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from status" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from status" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from status" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from status" -l active -d 'Only sessions whose work has not ended'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from status" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from status" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from status" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from message" -l agent -d 'Let this agent of the runtime answer [default: the session\'s own]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from message" -l server -d 'The server to ask where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from message" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from message" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from message" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from message" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from message" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from message" -l recover -d 'Stop the present turn first, for a session that hangs'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from message" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from message" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from message" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from message" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -l from -d 'Whose word it is: a session, or the task it works on [default: the session in whose tree this runs]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -l level -d 'How urgent it is' -r -f -a "info\t'For whenever it looks'
warning\t'The same, more urgent'
blocking\t'The work has stopped: also writes the [BLOCKED] card'"
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -l type -d 'With --level blocking: the type of the card, as of board block' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -l server -d 'The server to ask where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -l wake -d 'Let the coordinator answer at once [default: for blocking only]'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -l no-wake -d 'Only leave the message there'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from abort" -l reason -d 'Why' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from abort" -l server -d 'The server to ask where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from abort" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from abort" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from abort" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from abort" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from abort" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from abort" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from abort" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from abort" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from abort" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -l session -d 'Only this session, or that of this task; may be given again [default: all at work, and all that wait for an answer]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -l since -d 'Count nothing that happened before: a time, or how long ago [default: since somebody last asked for something]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -l store -d 'Where opencode keeps its sessions on this machine: its data folder, or the file itself' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -l server -d 'The server to ask where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -l record -d 'Record what is found on the board, and renew the claims of sessions that are at work'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from events" -l since -d 'Only what came after this event: the number that the last answer gave as `next`' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from events" -l limit -d 'At most this many' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from events" -l server -d 'The server to ask where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from events" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from events" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from events" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from events" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from events" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from events" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from events" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from events" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from events" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from help" -f -a "spawn" -d 'Start a session for a task, in a working tree of its own; prints the session'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from help" -f -a "status" -d 'Show the sessions that were spawned, and what their servers say of them'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from help" -f -a "message" -d 'Say something to a session'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from help" -f -a "notify" -d 'Tell the coordinator of a session something'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from help" -f -a "abort" -d 'Stop a session'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from help" -f -a "detect" -d 'Find what is wrong with sessions'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from help" -f -a "events" -d 'Show what happened to sessions, as the board recorded it'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c watchbill -n "__fish_watchbill_using_subcommand demo" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand demo" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand match" -l format -d 'Take it for this format [default: what its first lines show]' -r -f -a "hermes\t''
profile\t''
claude\t''
codex\t''
plain\t''"
complete -c watchbill -n "__fish_watchbill_using_subcommand match" -l task -d 'It is a board\'s log of this task' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand match" -l profile -d 'It is the log of a worker of this profile: patterns for other profiles do not count' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand match" -l config -d 'The configuration file in the place of all others' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand match" -l all -d 'Show every line'
complete -c watchbill -n "__fish_watchbill_using_subcommand match" -l explain -d 'Show which rule decides each line: one that is built in, or which `[[match]]` of the configuration'
complete -c watchbill -n "__fish_watchbill_using_subcommand match" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand match" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand providers" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand providers" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand providers" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand providers" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand providers" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand providers" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand providers" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand providers" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand providers" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand why" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand why" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand why" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand why" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand why" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand why" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand why" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand why" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand why" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand report" -l since -d 'How far to look back: a length of time (12h, 3d), RFC 3339 or epoch seconds [default: 12h]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand report" -l html -d 'Write the report as one page that needs no network, readable by you alone' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand report" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand report" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand report" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand report" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand report" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand report" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand report" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand report" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand report" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand doctor" -l fail-on -d 'How bad a finding must be for exit 1' -r -f -a "warning\t'Something works worse than it could'
error\t'Work may stand still, or be lost'"
complete -c watchbill -n "__fish_watchbill_using_subcommand doctor" -l metrics -d 'Where the watchers leave the files of their --metrics [default: as their timers say, else the state folder]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand doctor" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand doctor" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand doctor" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand doctor" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand doctor" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand doctor" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand doctor" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand doctor" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c watchbill -n "__fish_watchbill_using_subcommand timers" -l as -d 'Who starts them [default: the systemd that answers, of the machine for root, else of this user; else cron]' -r -f -a "user\t'The systemd of this user'
system\t'The systemd of the machine'
cron\t'The crontab of this user'"
complete -c watchbill -n "__fish_watchbill_using_subcommand timers" -l metrics -d 'Where the passes leave the files of their --metrics [default: metrics in the folder of the state file]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand timers" -l unit-dir -d 'Write units into this folder, and only say which commands are to be run' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand timers" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand timers" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand timers" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand timers" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand timers" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand timers" -s n -l dry-run -d 'Say what would be done, and change nothing'
complete -c watchbill -n "__fish_watchbill_using_subcommand timers" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand timers" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand timers" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand timers" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c watchbill -n "__fish_watchbill_using_subcommand check" -s w -l warning -d 'WARNING where more tasks than this need a person' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand check" -s c -l critical -d 'CRITICAL where more tasks than this need a person [default: never]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand check" -l metrics -d 'Where the watchers leave the files of their --metrics [default: as their timers say, else the state folder]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand check" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand check" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand check" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand check" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand check" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand check" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand check" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand check" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand check" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand pause" -l until -d 'End by itself at this time: HH:MM (the next one, local), RFC 3339 or epoch seconds' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand pause" -l for -d 'End by itself after this long (90m, 12h)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand pause" -l reason -d 'Why, for whoever meets it at 3 am' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand pause" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand pause" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand pause" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand pause" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand pause" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand pause" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand pause" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand pause" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand pause" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand unpause" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand unpause" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand unpause" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand unpause" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand unpause" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand unpause" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand unpause" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand unpause" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand unpause" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand replay" -l since -d 'From when on: a span (24h), RFC 3339 or epoch seconds' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand replay" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand replay" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand replay" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand replay" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand replay" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand replay" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand replay" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand replay" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand replay" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand undo" -l reason -d 'Why, for whoever reads the task\'s history' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand undo" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand undo" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand undo" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand undo" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand undo" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand undo" -s n -l dry-run -d 'Say what would be put back, and change nothing'
complete -c watchbill -n "__fish_watchbill_using_subcommand undo" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand undo" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c watchbill -n "__fish_watchbill_using_subcommand undo" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand undo" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check board coord demo match providers why report doctor timers check pause unpause replay undo help" -f -a "heal" -d 'Requeue what dead workers left behind, reset crash loops, clear jams and leaked claims'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check board coord demo match providers why report doctor timers check pause unpause replay undo help" -f -a "synthesize-distress" -d 'Write the [BLOCKED] card for a worker that cannot, with the true cause and the evidence'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check board coord demo match providers why report doctor timers check pause unpause replay undo help" -f -a "route-blocked" -d 'Move work off providers that refuse it, carry out what orchestrators decide, end holds, close cards'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check board coord demo match providers why report doctor timers check pause unpause replay undo help" -f -a "budget-check" -d 'Compare work with its scope and budget, recommend splits, show what needs a person; changes no task\'s state'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check board coord demo match providers why report doctor timers check pause unpause replay undo help" -f -a "board" -d 'The hand of a worker or a person on a task board'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check board coord demo match providers why report doctor timers check pause unpause replay undo help" -f -a "coord" -d 'Agent sessions: spawn, watch, message, notify and abort them, each time in one pass'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check board coord demo match providers why report doctor timers check pause unpause replay undo help" -f -a "demo" -d 'Break a board in a temporary folder, with real processes, and heal it'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check board coord demo match providers why report doctor timers check pause unpause replay undo help" -f -a "match" -d 'Show line by line what is read out of a worker\'s log'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check board coord demo match providers why report doctor timers check pause unpause replay undo help" -f -a "providers" -d 'Show who works with which provider, how each stands, and what waits for it'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check board coord demo match providers why report doctor timers check pause unpause replay undo help" -f -a "why" -d 'Say why a task stands as it stands: the true cause, what every watcher would do with it now, and what a person can run'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check board coord demo match providers why report doctor timers check pause unpause replay undo help" -f -a "report" -d 'Say what happened to the boards since some hours: who is needed, what waits, what was healed, what was left alone'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check board coord demo match providers why report doctor timers check pause unpause replay undo help" -f -a "doctor" -d 'Look whether everything is in place for the watchers, and change nothing'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check board coord demo match providers why report doctor timers check pause unpause replay undo help" -f -a "timers" -d 'Have the watchers started by systemd or cron, and take that away again'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check board coord demo match providers why report doctor timers check pause unpause replay undo help" -f -a "check" -d 'Say in one line how it stands, with the exit codes of a monitoring plugin'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check board coord demo match providers why report doctor timers check pause unpause replay undo help" -f -a "pause" -d 'Stop all changes by watchers on a board, until a time or until `unpause`'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check board coord demo match providers why report doctor timers check pause unpause replay undo help" -f -a "unpause" -d 'End a pause'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check board coord demo match providers why report doctor timers check pause unpause replay undo help" -f -a "replay" -d 'Show what the watchers would have done under another policy, by what they saw'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check board coord demo match providers why report doctor timers check pause unpause replay undo help" -f -a "undo" -d 'Take back what a watcher did, where the board still is as it left it'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check board coord demo match providers why report doctor timers check pause unpause replay undo help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "init" -d 'Make a board of our own in a new file, with the tables of Hermes'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "add" -d 'Add a task'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "list" -d 'List tasks in dispatch order'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "show" -d 'Show one task with its attempts, history and comments'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "claim" -d 'Take a task: the one named, or the next ready one for this worker'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "run" -d 'Claim the next ready task of a profile, run a command on it, and say how that ended'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "heartbeat" -d 'Say that the work goes on, and extend the claim'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "comment" -d 'Leave a note for whoever works on it next'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "packet" -d 'Record where the work stands, for whoever takes it up next; without a value: show what was recorded last'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "block" -d 'Stop the work and ask for help with a card; only an orchestrator or a person takes it up again'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "complete" -d 'Finish a task, and let those run that waited for it'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "reassign" -d 'Give a task to another profile'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "unblock" -d 'Set a blocked or parked task free: ready, or todo while it waits for another one'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "protocol" -d 'Print the rules for a worker or an orchestrator, for an AGENTS.md, a system prompt or a skill'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "link" -d 'Make one task wait for another'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from coord" -f -a "spawn" -d 'Start a session for a task, in a working tree of its own; prints the session'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from coord" -f -a "status" -d 'Show the sessions that were spawned, and what their servers say of them'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from coord" -f -a "message" -d 'Say something to a session'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from coord" -f -a "notify" -d 'Tell the coordinator of a session something'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from coord" -f -a "abort" -d 'Stop a session'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from coord" -f -a "detect" -d 'Find what is wrong with sessions'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from coord" -f -a "events" -d 'Show what happened to sessions, as the board recorded it'
