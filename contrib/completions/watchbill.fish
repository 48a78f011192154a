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
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "heal" -d 'Requeue tasks of dead workers, reset crash loops, clear jams and leaked claims'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "synthesize-distress" -d 'Write the distress card that a worker could not write, with the root cause and the evidence'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "route-blocked" -d 'Reroute tasks of providers that refuse them, apply decisions of orchestrators, release holds, close cards'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "budget-check" -d 'Compare tasks with their scope and budget, and recommend splits; never change a task\'s state'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "run" -d 'Run one pass of every watcher that is due, one after the other, and exit'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "demo" -d 'Show a board with failures in a temporary folder, with real processes, and the watchers that repair it'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "match" -d 'Show how each line of a worker\'s log is read'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "providers" -d 'Show each provider: its state, the profiles that use it, and the tasks that wait for it'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "why" -d 'Explain a task\'s state: root cause, what each watcher would do next, and commands to run'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "status" -d 'Show on one screen what needs you now, grouped by cause, with the command for each'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "page" -d 'Write an HTML page about all boards: what needs you, what waits, what was done, and what it cost'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "notify" -d 'Send a message about what began or stopped to need you, to the targets in the configuration'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "report" -d 'Print what happened on the boards in the last hours: what needs you, what waits, what was repaired or skipped'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "doctor" -d 'Check the setup (read-only)'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "init" -d 'Set up everything: ask questions, write the configuration, install the timers, send a test message'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "timers" -d 'Install, show or remove the systemd timers or cron jobs that run the watchers'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "check" -d 'Print one status line for a monitoring system, with the exit codes of a plugin'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "pause" -d 'Stop all changes by watchers on a board, until a time or until `unpause`'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "unpause" -d 'End a pause'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "forget" -d 'Forget that a board was there: it was removed, or replaced by another one, on purpose'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "replay" -d 'Show what the watchers would have done with another configuration'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "undo" -d 'Undo what a watcher did, where the board has not changed since'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "board" -d 'Read and change tasks on a board, as a worker or the operator'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "coord" -d 'Start, watch, message and stop agent sessions; each call is one pass'
complete -c watchbill -n "__fish_watchbill_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -l print-packet -d 'Print the resume packet of the next attempt at a task, and write nothing' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -l print-prompt -d 'Print the whole prompt of the next attempt: the task\'s text, then the resume packet' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -l task -d 'Check only this task: its id, with or without t_, the start of its id, or words of its title' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -l plan -d 'Apply the steps of a plan made by --dry-run --json, under the same guards' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -l facts -d 'Decide from the data of an earlier pass (its --json -v output), and change nothing' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -l metrics -d 'Write the metrics of this pass to this file (*.prom), for the textfile collector of node_exporter' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -l list-checks -d 'List every health check: its rule, its default action, and its configured action'
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -s n -l dry-run -d 'Print what would be done, and change nothing'
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand heal" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -l task -d 'Check only this task: its id, with or without t_, the start of its id, or words of its title' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -l plan -d 'Apply the steps of a plan made by --dry-run --json, under the same guards' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -l facts -d 'Decide from the data of an earlier pass (its --json -v output), and change nothing' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -l metrics -d 'Write the metrics of this pass to this file (*.prom), for the textfile collector of node_exporter' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -s n -l dry-run -d 'Print what would be done, and change nothing'
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand synthesize-distress" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -l task -d 'Check only this task: its id, with or without t_, the start of its id, or words of its title' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -l plan -d 'Apply the steps of a plan made by --dry-run --json, under the same guards' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -l facts -d 'Decide from the data of an earlier pass (its --json -v output), and change nothing' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -l metrics -d 'Write the metrics of this pass to this file (*.prom), for the textfile collector of node_exporter' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -s n -l dry-run -d 'Print what would be done, and change nothing'
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand route-blocked" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l html -d 'Write the result as one HTML page that needs no network and that only you can read; see also `watchbill page`' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l task -d 'Check only this task: its id, with or without t_, the start of its id, or words of its title' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l plan -d 'Apply the steps of a plan made by --dry-run --json, under the same guards' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l facts -d 'Decide from the data of an earlier pass (its --json -v output), and change nothing' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l metrics -d 'Write the metrics of this pass to this file (*.prom), for the textfile collector of node_exporter' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l comment -d 'Add one comment to a task for each limit that it exceeds'
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l distress -d 'Write a card to the orchestrator for each running task over its limits, with a draft of a split'
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l lint -d 'Only list ready and running tasks with a scope that is missing, contradictory, not understood or too broad, with the line to fix'
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -s n -l dry-run -d 'Print what would be done, and change nothing'
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand budget-check" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand run" -l metrics -d 'Write the metrics of each pass to DIR/NAME.prom, and read from there when a watcher last ran' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand run" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand run" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand run" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand run" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand run" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand run" -s n -l dry-run -d 'Print what would be done, and change nothing'
complete -c watchbill -n "__fish_watchbill_using_subcommand run" -l all -d 'Also run watchers that are not due'
complete -c watchbill -n "__fish_watchbill_using_subcommand run" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand run" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand run" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand run" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand demo" -l fast -d 'Show all scenes at once, also at a terminal'
complete -c watchbill -n "__fish_watchbill_using_subcommand demo" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand demo" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand match" -l format -d 'Read it as this format [default: detected from its first lines]' -r -f -a "hermes\t''
profile\t''
claude\t''
codex\t''
plain\t''"
complete -c watchbill -n "__fish_watchbill_using_subcommand match" -l task -d 'Read it as a board\'s log of this task' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand match" -l profile -d 'Read it as the log of a worker of this profile, and ignore patterns for other profiles' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand match" -l config -d 'Read only this configuration file' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand match" -l all -d 'Show every line'
complete -c watchbill -n "__fish_watchbill_using_subcommand match" -l explain -d 'Show the rule that decides each line: a built-in one, or a `[[match]]` of the configuration'
complete -c watchbill -n "__fish_watchbill_using_subcommand match" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand match" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand providers" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand providers" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand providers" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand providers" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand providers" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand providers" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand providers" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand providers" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand providers" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand why" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand why" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand why" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand why" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand why" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand why" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand why" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand why" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand why" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand status" -l watch -d 'Redraw every SECONDS until q is pressed' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand status" -l metrics -d 'Read the metrics files of the watchers from this folder [default: that of their timers, else the state folder]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand status" -l host -d 'Also ask this host, over ssh (may be repeated, or several names with commas between)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand status" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand status" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand status" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand status" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand status" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand status" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand status" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand status" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand status" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand page" -l metrics -d 'Read the metrics files of the watchers from this folder [default: that of their timers, else the state folder]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand page" -l needs -d 'Leave how much needs a person in this file (*.prom), for the textfile collector of node_exporter' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand page" -l host -d 'Also ask this host, over ssh (may be repeated, or several names with commas between)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand page" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand page" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand page" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand page" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand page" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand page" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand page" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand page" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand page" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand notify" -l target -d 'Send to this target only (may be repeated) [default: all targets]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand notify" -l metrics -d 'Write the metrics of this pass to this file (*.prom), for the textfile collector of node_exporter' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand notify" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand notify" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand notify" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand notify" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand notify" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand notify" -l test -d 'Send a test message now, also in quiet hours'
complete -c watchbill -n "__fish_watchbill_using_subcommand notify" -s n -l dry-run -d 'Print what would be sent, and send nothing'
complete -c watchbill -n "__fish_watchbill_using_subcommand notify" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand notify" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand notify" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand notify" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand report" -l since -d 'Report since this time: a length of time (12h, 3d), yesterday, a date, RFC 3339 or epoch seconds [default: 12h]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand report" -l html -d 'Also write the HTML page of these boards, as `watchbill page` does' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand report" -l host -d 'Also ask this host, over ssh (may be repeated, or several names with commas between)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand report" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand report" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand report" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand report" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand report" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand report" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand report" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand report" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand report" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand doctor" -l fail-on -d 'Exit with 1 for a finding of this severity or worse' -r -f -a "warning\t'Something works less well than it could'
error\t'Tasks may stop, or work may be lost'"
complete -c watchbill -n "__fish_watchbill_using_subcommand doctor" -l metrics -d 'Read the metrics files of the watchers from this folder [default: that of their timers, else the state folder]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand doctor" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand doctor" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand doctor" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand doctor" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand doctor" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand doctor" -l bundle -d 'Print what a bug report needs, as one object: findings, versions, configuration and steps, without titles, texts and secrets'
complete -c watchbill -n "__fish_watchbill_using_subcommand doctor" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand doctor" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand doctor" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c watchbill -n "__fish_watchbill_using_subcommand init" -l orchestrator -d 'The profile that takes the cards and decides about blocked work' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand init" -l fallback -d 'Who takes the work of a profile while its provider refuses it, first one first (may be repeated)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand init" -l tell -d 'Whom to tell what needs a person: you@example.org, a URL, or telegram:CHAT' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand init" -l tell-file -d 'A file whose first line is the URL to tell, or the token of the bot, where that is a secret' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand init" -l as -d 'Who starts the watchers [default: the systemd that answers, of the machine for root, else of this user; else cron]' -r -f -a "user\t'The systemd of this user'
system\t'The systemd of the machine'
cron\t'The crontab of this user'"
complete -c watchbill -n "__fish_watchbill_using_subcommand init" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand init" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand init" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand init" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand init" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand init" -l no-timers -d 'Write the configuration alone, and have nothing started'
complete -c watchbill -n "__fish_watchbill_using_subcommand init" -s y -l yes -d 'Ask nothing'
complete -c watchbill -n "__fish_watchbill_using_subcommand init" -s n -l dry-run -d 'Say what would be done, and change nothing'
complete -c watchbill -n "__fish_watchbill_using_subcommand init" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand init" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand init" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand init" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c watchbill -n "__fish_watchbill_using_subcommand timers" -l as -d 'Schedule with this [default: the systemd that answers, of the machine for root, else of this user; else cron]' -r -f -a "user\t'The systemd of this user'
system\t'The systemd of the machine'
cron\t'The crontab of this user'"
complete -c watchbill -n "__fish_watchbill_using_subcommand timers" -l metrics -d 'Let the passes write their metrics files to this folder [default: metrics in the state folder]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand timers" -l unit-dir -d 'Write the units to this folder, and print the commands to run' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand timers" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand timers" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand timers" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand timers" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand timers" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand timers" -s n -l dry-run -d 'Print what would be done, and change nothing'
complete -c watchbill -n "__fish_watchbill_using_subcommand timers" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand timers" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand timers" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand timers" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c watchbill -n "__fish_watchbill_using_subcommand check" -s w -l warning -d 'Print WARNING if more tasks than this need you' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand check" -s c -l critical -d 'Print CRITICAL if more tasks than this need you [default: never]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand check" -l metrics -d 'Read the metrics files of the watchers from this folder [default: that of their timers, else the state folder]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand check" -l host -d 'Also ask this host, over ssh (may be repeated, or several names with commas between)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand check" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand check" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand check" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand check" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand check" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand check" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand check" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand check" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand check" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand pause" -l until -d 'End the pause at this time, at most a year ahead: HH:MM (next local), RFC 3339 or epoch seconds' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand pause" -l for -d 'End the pause after this long, at most a year (90m, 12h)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand pause" -l reason -d 'Record the reason for the pause' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand pause" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand pause" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand pause" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand pause" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand pause" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand pause" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand pause" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand pause" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand pause" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand unpause" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand unpause" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand unpause" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand unpause" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand unpause" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand unpause" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand unpause" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand unpause" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand unpause" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand forget" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand forget" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand forget" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand forget" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand forget" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand forget" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand forget" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand forget" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand forget" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand replay" -l since -d 'Replay passes since this time: a length of time (24h), yesterday, a date, RFC 3339 or epoch seconds' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand replay" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand replay" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand replay" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand replay" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand replay" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand replay" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand replay" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand replay" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand replay" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand undo" -l reason -d 'Record the reason in the task\'s history' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand undo" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand undo" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand undo" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand undo" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand undo" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand undo" -s n -l dry-run -d 'Print what would be undone, and change nothing'
complete -c watchbill -n "__fish_watchbill_using_subcommand undo" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand undo" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand undo" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand undo" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "init" -d 'Create a board in a new file or in a PostgreSQL database, with the tables of Hermes'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "grant" -d 'Let roles of a PostgreSQL server work on its board, or watch it'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "host" -d 'Show the hosts of a board that several share, or say that one will not come back'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "copy" -d 'Copy a whole board to an empty one, and pause the old one: to move it'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "prune" -d 'Remove tasks that are over for long, with their history, from a board of Watchbill'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "upgrade" -d 'Bring the tables of a board in PostgreSQL to the version of this program'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "lend" -d 'Let the Hermes of this host work on tasks of another board, and report there how they end'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "add" -d 'Add a task'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "list" -d 'List tasks in dispatch order'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "show" -d 'Show one task with its attempts, history and comments'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "claim" -d 'Claim the named task, or the next ready task of this worker'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "run" -d 'Claim the next ready task of a profile, run a command on it, and record how it ended'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "heartbeat" -d 'Record that the worker still works, and extend the claim'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "comment" -d 'Add a comment for the next worker'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "packet" -d 'Record the state of the work for the next attempt; without a value, print the last record'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "block" -d 'Stop work on a task and ask for help with a card; only an orchestrator or the operator unblocks it'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "complete" -d 'Finish a task, and make the tasks ready that waited for it'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "reassign" -d 'Assign a task to another profile'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "unblock" -d 'Make a blocked or held task ready, or todo while it waits for another task; without Hermes also one in triage'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "protocol" -d 'Print the rules for a worker or an orchestrator, for an AGENTS.md, a system prompt or a skill'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "link" -d 'Make one task wait for another'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "unlink" -d 'Let one task no longer wait for another'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and not __fish_seen_subcommand_from init grant host copy prune upgrade lend add list show claim run heartbeat comment packet block complete reassign unblock protocol link unlink help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from init" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from init" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from init" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from init" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from init" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from init" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from init" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from init" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from init" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from grant" -l worker -d 'Let this role do what a worker does (may be repeated)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from grant" -l watcher -d 'Let this role also watch, pause and speak for its host (may be repeated)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from grant" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from grant" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from grant" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from grant" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from grant" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from grant" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from grant" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from grant" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from grant" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from host" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from host" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from host" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from host" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from host" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from host" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from host" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from host" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from host" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from host" -f -a "list" -d 'List the hosts, with the time they were seen and heal ran there'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from host" -f -a "forget" -d 'Say that a host will not come back: heal on another one requeues its work when the claims end'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from host" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from copy" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from copy" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from copy" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from copy" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from copy" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from copy" -l leave-running -d 'Copy although workers are at work; running tasks are ready at TO'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from copy" -s n -l dry-run -d 'Print what would be copied, and change nothing'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from copy" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from copy" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from copy" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from copy" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from prune" -l older-than -d 'Remove what was not written to for this long, at least 7d' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from prune" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from prune" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from prune" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from prune" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from prune" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from prune" -s n -l dry-run -d 'Print how much would be removed, and change nothing'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from prune" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from prune" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from prune" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from prune" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from upgrade" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from upgrade" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from upgrade" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from upgrade" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from upgrade" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from upgrade" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from upgrade" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from upgrade" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from upgrade" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from lend" -l from -d 'The board that lends: postgres://HOST/DATABASE, or a file of `board init`' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from lend" -l assignee -d 'Claim the ready tasks of this profile, which must exist on the Hermes board' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from lend" -l onto -d 'The Hermes board that gets the tasks: its slug, such as default, or its file' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from lend" -l most -d 'Have at most this many tasks of the profile open at the same time; 0 claims nothing new' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from lend" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from lend" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from lend" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from lend" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from lend" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from lend" -s n -l dry-run -d 'Print what would be done, and change nothing'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from lend" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from lend" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from lend" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from lend" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l body -d 'Set the text of the task' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l body-file -d 'Read the text from this file (- is standard input)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l assignee -d 'Assign the task to this profile' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l workspace -d 'Let the worker work in this folder, such as a git worktree' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l priority -d 'Set the priority; a higher number goes first' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l parent -d 'Wait for this task (may be repeated)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l key -d 'Add the task only once: a second call with this key prints the first task' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l max-retries -d 'Give up after this many failures [default: the board\'s limit]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l concern -d 'Scope: the one concern of the task' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l in-scope -d 'Scope: a glob, path or package that the task may change (may be repeated)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l out-of-scope -d 'Scope: a glob, path or package that the task must not change (may be repeated)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l max-files -d 'Scope: most files that the task may change' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l iterations -d 'Scope: expected number of agent iterations' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l time-budget -d 'Scope: longest time of one attempt' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l cost-budget -d 'Scope: highest cost of the whole task, in US dollars ($5)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l force -d 'Allow a profile that does not exist'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from list" -l status -d 'List only tasks of this state (may be repeated) [default: every open state]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from list" -l assignee -d 'List only tasks of this profile' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from list" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from list" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from list" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from list" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from list" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from list" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from show" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from show" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from show" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from show" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from show" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from show" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from show" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from show" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -l worker -d 'Claim for this profile' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -l pid -d 'Let heal watch this process; without it the claim ends without heartbeats' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -l ttl -d 'Let the claim last this long without a heartbeat [default: board.claim_ttl, 15m]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -l log -d 'Let the watchers read the agent\'s log or transcript from this file, which may not exist yet' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -l workspace -d 'Work in this folder if the task names none [default: the current folder, on a board without Hermes]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from claim" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from run" -l assignee -d 'Claim for this profile' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from run" -l ttl -d 'Let the claim last this long without a heartbeat [default: board.claim_ttl, 15m]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from run" -l log -d 'Write the output of the command to this file; each worker needs its own [default: the board\'s log of the task]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from run" -l wait -d 'Wait until a task is ready, and look for one this often (1s to 1h)' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from run" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from run" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from run" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from run" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from run" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from run" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from run" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from run" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from heartbeat" -l note -d 'Record what the worker does now' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from heartbeat" -l ttl -d 'Extend the claim by this much [default: board.claim_ttl, 15m]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from heartbeat" -l run -d 'Only if this is still the open attempt [default: HERMES_KANBAN_RUN_ID, for the task in HERMES_KANBAN_TASK]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from heartbeat" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from heartbeat" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from heartbeat" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from heartbeat" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from heartbeat" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from heartbeat" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from heartbeat" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from heartbeat" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from heartbeat" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from comment" -l author -d 'The author of the comment' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from comment" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from comment" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from comment" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from comment" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from comment" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from comment" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from comment" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from comment" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from comment" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -l mission -d 'The goal of the task, in one sentence' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -l plan -d 'The file with your plan' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -l verified -d 'The last step that you verified, and how' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -l step -d 'The current step' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -l next -d 'The next step' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -l blockers -d 'What blocks the work' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -l run -d 'Only if this is still the open attempt [default: HERMES_KANBAN_RUN_ID, for the task in HERMES_KANBAN_TASK]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from packet" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -l type -d 'Write a card of this type: one of the six below' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -l completed -d 'On the card: what is done' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -l needs -d 'On the card: what others should do' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -l cannot-touch -d 'On the card: what you must not change [default: from the task\'s scope]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -l kind -d 'Block without a card: dependency, needs_input, capability or transient' -r -f -a "dependency\t''
needs_input\t''
capability\t''
transient\t''"
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -l run -d 'Only if this is still the open attempt [default: HERMES_KANBAN_RUN_ID, for the task in HERMES_KANBAN_TASK]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from block" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from complete" -l result -d 'Record the result' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from complete" -l summary -d 'Record a summary for the next worker' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from complete" -l metadata -d 'Record details as a JSON object, such as the decision of a distress card' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from complete" -l run -d 'Only if this is still the open attempt [default: HERMES_KANBAN_RUN_ID, for the task in HERMES_KANBAN_TASK]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from complete" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from complete" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from complete" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from complete" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from complete" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from complete" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from complete" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from complete" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from complete" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from reassign" -l reason -d 'Record the reason' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from reassign" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from reassign" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from reassign" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from reassign" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from reassign" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from reassign" -l force -d 'Allow a profile that does not exist'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from reassign" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from reassign" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from reassign" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from reassign" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unblock" -l reason -d 'Record the reason; the next worker reads it' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unblock" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unblock" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unblock" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unblock" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unblock" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unblock" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unblock" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unblock" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unblock" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from protocol" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from protocol" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from protocol" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from protocol" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from protocol" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from protocol" -l skill -d 'Print a SKILL.md, with name and description at its head'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from protocol" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from protocol" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from protocol" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from protocol" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from link" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from link" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from link" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from link" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from link" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from link" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from link" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from link" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from link" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unlink" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unlink" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unlink" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unlink" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unlink" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unlink" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unlink" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unlink" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from unlink" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "init" -d 'Create a board in a new file or in a PostgreSQL database, with the tables of Hermes'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "grant" -d 'Let roles of a PostgreSQL server work on its board, or watch it'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "host" -d 'Show the hosts of a board that several share, or say that one will not come back'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "copy" -d 'Copy a whole board to an empty one, and pause the old one: to move it'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "prune" -d 'Remove tasks that are over for long, with their history, from a board of Watchbill'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "upgrade" -d 'Bring the tables of a board in PostgreSQL to the version of this program'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "lend" -d 'Let the Hermes of this host work on tasks of another board, and report there how they end'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "add" -d 'Add a task'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "list" -d 'List tasks in dispatch order'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show one task with its attempts, history and comments'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "claim" -d 'Claim the named task, or the next ready task of this worker'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "run" -d 'Claim the next ready task of a profile, run a command on it, and record how it ended'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "heartbeat" -d 'Record that the worker still works, and extend the claim'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "comment" -d 'Add a comment for the next worker'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "packet" -d 'Record the state of the work for the next attempt; without a value, print the last record'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "block" -d 'Stop work on a task and ask for help with a card; only an orchestrator or the operator unblocks it'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "complete" -d 'Finish a task, and make the tasks ready that waited for it'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "reassign" -d 'Assign a task to another profile'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "unblock" -d 'Make a blocked or held task ready, or todo while it waits for another task; without Hermes also one in triage'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "protocol" -d 'Print the rules for a worker or an orchestrator, for an AGENTS.md, a system prompt or a skill'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "link" -d 'Make one task wait for another'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "unlink" -d 'Let one task no longer wait for another'
complete -c watchbill -n "__fish_watchbill_using_subcommand board; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -l server -d 'Ask this server where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "spawn" -d 'Start a session for a task in its own worktree, and print the session'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "status" -d 'Show the spawned sessions, and the state that their servers report'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "message" -d 'Send a message to a session'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "notify" -d 'Send a message to the coordinator of a session'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "abort" -d 'Stop a session'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "detect" -d 'Find problems of sessions'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "events" -d 'Show the events of sessions from the board'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l task -d 'Start a session for this task [default: add a new task]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l runtime -d 'Run the session with this' -r -f -a "opencode\t'opencode, on the server of --server'
claude\t'Claude Code, as a command: claude -p'
codex\t'Codex, as a command: codex exec'"
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l branch -d 'Work on this branch; a new one begins at the HEAD of the folder of --repo [default: wt/ and the task\'s id]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l name -d 'Name the folder below .worktrees of the repository [default: the task\'s id]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l title -d 'Set the title of the session; without --task also of the new task' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l agent -d 'Use this agent of the runtime [default: that of the runtime]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l prompt -d 'Send this prompt instead of the task\'s text; without --task also set the text of the new task' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l parent -d 'Set the coordinator of the new session: a session, person:NAME or script:NAME' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l repo -d 'Work in the repository of this folder [default: the folder of the task, else the current folder]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l server -d 'Ask this server where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from spawn" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from status" -l parent -d 'Show only what this session, person:NAME or script:NAME spawned' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from status" -l server -d 'Ask this server where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from status" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from status" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from status" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from status" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from status" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from status" -l active -d 'Show only sessions that have not ended'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from status" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from status" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from status" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from message" -l agent -d 'Let this agent of the runtime answer [default: the agent of the session]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from message" -l server -d 'Ask this server where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from message" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from message" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from message" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from message" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from message" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from message" -l recover -d 'Stop the current turn first, for a session that hangs'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from message" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from message" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from message" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from message" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -l from -d 'The sender: a session, or its task [default: the session of the current worktree]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -l level -d 'Set the urgency' -r -f -a "info\t'The coordinator reads it when it checks its messages'
warning\t'As info, more urgent'
blocking\t'The session stopped: also write the [BLOCKED] card'"
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -l type -d 'With --level blocking: the type of the card, as in board block' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -l server -d 'Ask this server where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -l wake -d 'Let the coordinator answer now [default: for blocking only]'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -l no-wake -d 'Send the message without waking the coordinator'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from notify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from abort" -l reason -d 'Record the reason' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from abort" -l server -d 'Ask this server where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from abort" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from abort" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from abort" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from abort" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from abort" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from abort" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from abort" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from abort" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from abort" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -l session -d 'Check only this session, or the session of this task (may be repeated) [default: all that work or wait for an answer]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -l since -d 'Ignore what happened before this time: how long ago (10m), yesterday, a date, RFC 3339 or epoch seconds [default: the last request to the session]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -l store -d 'Read the sessions of opencode from this data folder or file' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -l server -d 'Ask this server where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -l record -d 'Record the problems on the board, and extend the claims of working sessions'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from detect" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from events" -l since -d 'Show only what came after this event: the `next` of the last answer' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from events" -l limit -d 'Show at most this many' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from events" -l server -d 'Ask this server where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from events" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from events" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from events" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from events" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from events" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from events" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from events" -l json -d 'Print one JSON object'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from events" -s q -l quiet -d 'Print errors only'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from events" -s h -l help -d 'Print help'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from help" -f -a "spawn" -d 'Start a session for a task in its own worktree, and print the session'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from help" -f -a "status" -d 'Show the spawned sessions, and the state that their servers report'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from help" -f -a "message" -d 'Send a message to a session'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from help" -f -a "notify" -d 'Send a message to the coordinator of a session'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from help" -f -a "abort" -d 'Stop a session'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from help" -f -a "detect" -d 'Find problems of sessions'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from help" -f -a "events" -d 'Show the events of sessions from the board'
complete -c watchbill -n "__fish_watchbill_using_subcommand coord; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check run demo match providers why status page notify report doctor init timers check pause unpause forget replay undo board coord help" -f -a "heal" -d 'Requeue tasks of dead workers, reset crash loops, clear jams and leaked claims'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check run demo match providers why status page notify report doctor init timers check pause unpause forget replay undo board coord help" -f -a "synthesize-distress" -d 'Write the distress card that a worker could not write, with the root cause and the evidence'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check run demo match providers why status page notify report doctor init timers check pause unpause forget replay undo board coord help" -f -a "route-blocked" -d 'Reroute tasks of providers that refuse them, apply decisions of orchestrators, release holds, close cards'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check run demo match providers why status page notify report doctor init timers check pause unpause forget replay undo board coord help" -f -a "budget-check" -d 'Compare tasks with their scope and budget, and recommend splits; never change a task\'s state'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check run demo match providers why status page notify report doctor init timers check pause unpause forget replay undo board coord help" -f -a "run" -d 'Run one pass of every watcher that is due, one after the other, and exit'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check run demo match providers why status page notify report doctor init timers check pause unpause forget replay undo board coord help" -f -a "demo" -d 'Show a board with failures in a temporary folder, with real processes, and the watchers that repair it'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check run demo match providers why status page notify report doctor init timers check pause unpause forget replay undo board coord help" -f -a "match" -d 'Show how each line of a worker\'s log is read'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check run demo match providers why status page notify report doctor init timers check pause unpause forget replay undo board coord help" -f -a "providers" -d 'Show each provider: its state, the profiles that use it, and the tasks that wait for it'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check run demo match providers why status page notify report doctor init timers check pause unpause forget replay undo board coord help" -f -a "why" -d 'Explain a task\'s state: root cause, what each watcher would do next, and commands to run'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check run demo match providers why status page notify report doctor init timers check pause unpause forget replay undo board coord help" -f -a "status" -d 'Show on one screen what needs you now, grouped by cause, with the command for each'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check run demo match providers why status page notify report doctor init timers check pause unpause forget replay undo board coord help" -f -a "page" -d 'Write an HTML page about all boards: what needs you, what waits, what was done, and what it cost'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check run demo match providers why status page notify report doctor init timers check pause unpause forget replay undo board coord help" -f -a "notify" -d 'Send a message about what began or stopped to need you, to the targets in the configuration'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check run demo match providers why status page notify report doctor init timers check pause unpause forget replay undo board coord help" -f -a "report" -d 'Print what happened on the boards in the last hours: what needs you, what waits, what was repaired or skipped'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check run demo match providers why status page notify report doctor init timers check pause unpause forget replay undo board coord help" -f -a "doctor" -d 'Check the setup (read-only)'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check run demo match providers why status page notify report doctor init timers check pause unpause forget replay undo board coord help" -f -a "init" -d 'Set up everything: ask questions, write the configuration, install the timers, send a test message'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check run demo match providers why status page notify report doctor init timers check pause unpause forget replay undo board coord help" -f -a "timers" -d 'Install, show or remove the systemd timers or cron jobs that run the watchers'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check run demo match providers why status page notify report doctor init timers check pause unpause forget replay undo board coord help" -f -a "check" -d 'Print one status line for a monitoring system, with the exit codes of a plugin'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check run demo match providers why status page notify report doctor init timers check pause unpause forget replay undo board coord help" -f -a "pause" -d 'Stop all changes by watchers on a board, until a time or until `unpause`'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check run demo match providers why status page notify report doctor init timers check pause unpause forget replay undo board coord help" -f -a "unpause" -d 'End a pause'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check run demo match providers why status page notify report doctor init timers check pause unpause forget replay undo board coord help" -f -a "forget" -d 'Forget that a board was there: it was removed, or replaced by another one, on purpose'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check run demo match providers why status page notify report doctor init timers check pause unpause forget replay undo board coord help" -f -a "replay" -d 'Show what the watchers would have done with another configuration'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check run demo match providers why status page notify report doctor init timers check pause unpause forget replay undo board coord help" -f -a "undo" -d 'Undo what a watcher did, where the board has not changed since'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check run demo match providers why status page notify report doctor init timers check pause unpause forget replay undo board coord help" -f -a "board" -d 'Read and change tasks on a board, as a worker or the operator'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check run demo match providers why status page notify report doctor init timers check pause unpause forget replay undo board coord help" -f -a "coord" -d 'Start, watch, message and stop agent sessions; each call is one pass'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and not __fish_seen_subcommand_from heal synthesize-distress route-blocked budget-check run demo match providers why status page notify report doctor init timers check pause unpause forget replay undo board coord help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "init" -d 'Create a board in a new file or in a PostgreSQL database, with the tables of Hermes'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "grant" -d 'Let roles of a PostgreSQL server work on its board, or watch it'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "host" -d 'Show the hosts of a board that several share, or say that one will not come back'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "copy" -d 'Copy a whole board to an empty one, and pause the old one: to move it'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "prune" -d 'Remove tasks that are over for long, with their history, from a board of Watchbill'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "upgrade" -d 'Bring the tables of a board in PostgreSQL to the version of this program'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "lend" -d 'Let the Hermes of this host work on tasks of another board, and report there how they end'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "add" -d 'Add a task'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "list" -d 'List tasks in dispatch order'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "show" -d 'Show one task with its attempts, history and comments'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "claim" -d 'Claim the named task, or the next ready task of this worker'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "run" -d 'Claim the next ready task of a profile, run a command on it, and record how it ended'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "heartbeat" -d 'Record that the worker still works, and extend the claim'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "comment" -d 'Add a comment for the next worker'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "packet" -d 'Record the state of the work for the next attempt; without a value, print the last record'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "block" -d 'Stop work on a task and ask for help with a card; only an orchestrator or the operator unblocks it'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "complete" -d 'Finish a task, and make the tasks ready that waited for it'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "reassign" -d 'Assign a task to another profile'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "unblock" -d 'Make a blocked or held task ready, or todo while it waits for another task; without Hermes also one in triage'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "protocol" -d 'Print the rules for a worker or an orchestrator, for an AGENTS.md, a system prompt or a skill'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "link" -d 'Make one task wait for another'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from board" -f -a "unlink" -d 'Let one task no longer wait for another'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from coord" -f -a "spawn" -d 'Start a session for a task in its own worktree, and print the session'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from coord" -f -a "status" -d 'Show the spawned sessions, and the state that their servers report'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from coord" -f -a "message" -d 'Send a message to a session'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from coord" -f -a "notify" -d 'Send a message to the coordinator of a session'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from coord" -f -a "abort" -d 'Stop a session'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from coord" -f -a "detect" -d 'Find problems of sessions'
complete -c watchbill -n "__fish_watchbill_using_subcommand help; and __fish_seen_subcommand_from coord" -f -a "events" -d 'Show the events of sessions from the board'
