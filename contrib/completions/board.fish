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

complete -c board -n "__fish_board_needs_command" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c board -n "__fish_board_needs_command" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c board -n "__fish_board_needs_command" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_needs_command" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_needs_command" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c board -n "__fish_board_needs_command" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_needs_command" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c board -n "__fish_board_needs_command" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_needs_command" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_needs_command" -s V -l version -d 'Print version'
complete -c board -n "__fish_board_needs_command" -f -a "init" -d 'Make a board of our own in a new file, with the tables of Hermes'
complete -c board -n "__fish_board_needs_command" -f -a "add" -d 'Add a task'
complete -c board -n "__fish_board_needs_command" -f -a "list" -d 'List tasks in dispatch order'
complete -c board -n "__fish_board_needs_command" -f -a "show" -d 'Show one task with its attempts, history and comments'
complete -c board -n "__fish_board_needs_command" -f -a "claim" -d 'Take a task: the one named, or the next ready one for this worker'
complete -c board -n "__fish_board_needs_command" -f -a "run" -d 'Claim the next ready task of a profile, run a command on it, and say how that ended'
complete -c board -n "__fish_board_needs_command" -f -a "heartbeat" -d 'Say that the work goes on, and extend the claim'
complete -c board -n "__fish_board_needs_command" -f -a "comment" -d 'Leave a note for whoever works on it next'
complete -c board -n "__fish_board_needs_command" -f -a "packet" -d 'Record where the work stands, for whoever takes it up next; without a value: show what was recorded last'
complete -c board -n "__fish_board_needs_command" -f -a "block" -d 'Stop the work and ask for help with a card; only an orchestrator or a person takes it up again'
complete -c board -n "__fish_board_needs_command" -f -a "complete" -d 'Finish a task, and let those run that waited for it'
complete -c board -n "__fish_board_needs_command" -f -a "reassign" -d 'Give a task to another profile'
complete -c board -n "__fish_board_needs_command" -f -a "unblock" -d 'Set a blocked or parked task free: ready, or todo while it waits for another one'
complete -c board -n "__fish_board_needs_command" -f -a "protocol" -d 'Print the rules for a worker or an orchestrator, for an AGENTS.md, a system prompt or a skill'
complete -c board -n "__fish_board_needs_command" -f -a "link" -d 'Make one task wait for another'
complete -c board -n "__fish_board_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c board -n "__fish_board_using_subcommand init" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand init" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c board -n "__fish_board_using_subcommand init" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand init" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand init" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c board -n "__fish_board_using_subcommand init" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand init" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c board -n "__fish_board_using_subcommand init" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand init" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand add" -l body -d 'The task\'s text' -r
complete -c board -n "__fish_board_using_subcommand add" -l body-file -d 'Read the text from a file (- is standard input)' -r -F
complete -c board -n "__fish_board_using_subcommand add" -l assignee -d 'Who is to do it' -r
complete -c board -n "__fish_board_using_subcommand add" -l workspace -d 'The folder it is worked on in, such as a git worktree' -r -F
complete -c board -n "__fish_board_using_subcommand add" -l priority -d 'Higher goes first' -r
complete -c board -n "__fish_board_using_subcommand add" -l parent -d 'It waits for this task (may be repeated)' -r
complete -c board -n "__fish_board_using_subcommand add" -l key -d 'Add it only once: a second call with the same key finds the first task' -r
complete -c board -n "__fish_board_using_subcommand add" -l max-retries -d 'Failures after which it is given up [default: the board\'s]' -r
complete -c board -n "__fish_board_using_subcommand add" -l concern -d 'Scope: its one concern' -r
complete -c board -n "__fish_board_using_subcommand add" -l in-scope -d 'Scope: a glob, path or package it may touch (may be repeated)' -r
complete -c board -n "__fish_board_using_subcommand add" -l out-of-scope -d 'Scope: what it must not touch (may be repeated)' -r
complete -c board -n "__fish_board_using_subcommand add" -l max-files -d 'Scope: most files it may change' -r
complete -c board -n "__fish_board_using_subcommand add" -l iterations -d 'Scope: expected number of agent iterations' -r
complete -c board -n "__fish_board_using_subcommand add" -l time-budget -d 'Scope: the longest one attempt should take' -r
complete -c board -n "__fish_board_using_subcommand add" -l cost-budget -d 'Scope: what the whole task should cost at most, in US dollars ($5)' -r
complete -c board -n "__fish_board_using_subcommand add" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand add" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c board -n "__fish_board_using_subcommand add" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand add" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand add" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c board -n "__fish_board_using_subcommand add" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand add" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c board -n "__fish_board_using_subcommand add" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand add" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand list" -l status -d 'Only this state (may be repeated) [default: every open one]' -r
complete -c board -n "__fish_board_using_subcommand list" -l assignee -d 'Only this profile\'s' -r
complete -c board -n "__fish_board_using_subcommand list" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand list" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c board -n "__fish_board_using_subcommand list" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand list" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand list" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c board -n "__fish_board_using_subcommand list" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand list" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c board -n "__fish_board_using_subcommand list" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand list" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand show" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand show" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c board -n "__fish_board_using_subcommand show" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand show" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand show" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c board -n "__fish_board_using_subcommand show" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand show" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c board -n "__fish_board_using_subcommand show" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand show" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand claim" -l worker -d 'The profile that works' -r
complete -c board -n "__fish_board_using_subcommand claim" -l pid -d 'The worker\'s process, which heal then watches; without it the claim is a lease that heartbeats keep' -r
complete -c board -n "__fish_board_using_subcommand claim" -l ttl -d 'How long the claim holds without a heartbeat [default: board.claim_ttl, 15m]' -r
complete -c board -n "__fish_board_using_subcommand claim" -l log -d 'The file the agent writes its log or transcript to, for the watchers to read; it may come later' -r -F
complete -c board -n "__fish_board_using_subcommand claim" -l workspace -d 'The folder it is worked on in, where the task names none [default: on a board without Hermes the current folder]' -r -F
complete -c board -n "__fish_board_using_subcommand claim" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand claim" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c board -n "__fish_board_using_subcommand claim" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand claim" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand claim" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c board -n "__fish_board_using_subcommand claim" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand claim" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c board -n "__fish_board_using_subcommand claim" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand claim" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand run" -l assignee -d 'Whose task' -r
complete -c board -n "__fish_board_using_subcommand run" -l ttl -d 'How long the claim holds without a heartbeat [default: board.claim_ttl, 15m]' -r
complete -c board -n "__fish_board_using_subcommand run" -l log -d 'The file that takes what the command prints [default: the board\'s own log of the task]' -r -F
complete -c board -n "__fish_board_using_subcommand run" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand run" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c board -n "__fish_board_using_subcommand run" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand run" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand run" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c board -n "__fish_board_using_subcommand run" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand run" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c board -n "__fish_board_using_subcommand run" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand run" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand heartbeat" -l note -d 'What is being done' -r
complete -c board -n "__fish_board_using_subcommand heartbeat" -l ttl -d 'Extend the claim by this much [default: board.claim_ttl, 15m]' -r
complete -c board -n "__fish_board_using_subcommand heartbeat" -l run -d 'Only if this is still the open run [default: HERMES_KANBAN_RUN_ID, for the task in HERMES_KANBAN_TASK]' -r
complete -c board -n "__fish_board_using_subcommand heartbeat" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand heartbeat" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c board -n "__fish_board_using_subcommand heartbeat" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand heartbeat" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand heartbeat" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c board -n "__fish_board_using_subcommand heartbeat" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand heartbeat" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c board -n "__fish_board_using_subcommand heartbeat" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand heartbeat" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand comment" -l author -d 'Who speaks' -r
complete -c board -n "__fish_board_using_subcommand comment" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand comment" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c board -n "__fish_board_using_subcommand comment" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand comment" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand comment" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c board -n "__fish_board_using_subcommand comment" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand comment" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c board -n "__fish_board_using_subcommand comment" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand comment" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand packet" -l mission -d 'What the task comes to, in one sentence' -r
complete -c board -n "__fish_board_using_subcommand packet" -l plan -d 'The file your plan is in' -r
complete -c board -n "__fish_board_using_subcommand packet" -l verified -d 'The last step that is shown to be right, and how' -r
complete -c board -n "__fish_board_using_subcommand packet" -l step -d 'The step you are at' -r
complete -c board -n "__fish_board_using_subcommand packet" -l next -d 'The step after that' -r
complete -c board -n "__fish_board_using_subcommand packet" -l blockers -d 'What stands in the way' -r
complete -c board -n "__fish_board_using_subcommand packet" -l run -d 'Only if this is still the open run [default: HERMES_KANBAN_RUN_ID, for the task in HERMES_KANBAN_TASK]' -r
complete -c board -n "__fish_board_using_subcommand packet" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand packet" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c board -n "__fish_board_using_subcommand packet" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand packet" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand packet" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c board -n "__fish_board_using_subcommand packet" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand packet" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c board -n "__fish_board_using_subcommand packet" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand packet" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand block" -l type -d 'Ask for help with a card of this type: one of the six below' -r
complete -c board -n "__fish_board_using_subcommand block" -l completed -d 'On the card: what is done' -r
complete -c board -n "__fish_board_using_subcommand block" -l needs -d 'On the card: what somebody else should do' -r
complete -c board -n "__fish_board_using_subcommand block" -l cannot-touch -d 'On the card: what you must not touch [default: what the task\'s scope says]' -r
complete -c board -n "__fish_board_using_subcommand block" -l kind -d 'A plain block without a card: dependency, needs_input, capability or transient' -r -f -a "dependency\t''
needs_input\t''
capability\t''
transient\t''"
complete -c board -n "__fish_board_using_subcommand block" -l run -d 'Only if this is still the open run [default: HERMES_KANBAN_RUN_ID, for the task in HERMES_KANBAN_TASK]' -r
complete -c board -n "__fish_board_using_subcommand block" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand block" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c board -n "__fish_board_using_subcommand block" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand block" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand block" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c board -n "__fish_board_using_subcommand block" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand block" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c board -n "__fish_board_using_subcommand block" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand block" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand complete" -l result -d 'What came of it' -r
complete -c board -n "__fish_board_using_subcommand complete" -l summary -d 'What the next worker should know' -r
complete -c board -n "__fish_board_using_subcommand complete" -l metadata -d 'Details as a JSON object, such as the decision of a distress card' -r
complete -c board -n "__fish_board_using_subcommand complete" -l run -d 'Only if this is still the open run [default: HERMES_KANBAN_RUN_ID, for the task in HERMES_KANBAN_TASK]' -r
complete -c board -n "__fish_board_using_subcommand complete" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand complete" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c board -n "__fish_board_using_subcommand complete" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand complete" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand complete" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c board -n "__fish_board_using_subcommand complete" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand complete" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c board -n "__fish_board_using_subcommand complete" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand complete" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand reassign" -l reason -d 'Why' -r
complete -c board -n "__fish_board_using_subcommand reassign" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand reassign" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c board -n "__fish_board_using_subcommand reassign" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand reassign" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand reassign" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c board -n "__fish_board_using_subcommand reassign" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand reassign" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c board -n "__fish_board_using_subcommand reassign" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand reassign" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand unblock" -l reason -d 'Why; the next worker reads it' -r
complete -c board -n "__fish_board_using_subcommand unblock" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand unblock" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c board -n "__fish_board_using_subcommand unblock" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand unblock" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand unblock" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c board -n "__fish_board_using_subcommand unblock" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand unblock" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c board -n "__fish_board_using_subcommand unblock" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand unblock" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand protocol" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand protocol" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c board -n "__fish_board_using_subcommand protocol" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand protocol" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand protocol" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c board -n "__fish_board_using_subcommand protocol" -l skill -d 'As a SKILL.md, with name and description at its head'
complete -c board -n "__fish_board_using_subcommand protocol" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand protocol" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c board -n "__fish_board_using_subcommand protocol" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand protocol" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand link" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c board -n "__fish_board_using_subcommand link" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c board -n "__fish_board_using_subcommand link" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c board -n "__fish_board_using_subcommand link" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c board -n "__fish_board_using_subcommand link" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c board -n "__fish_board_using_subcommand link" -l json -d 'Print one JSON object'
complete -c board -n "__fish_board_using_subcommand link" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c board -n "__fish_board_using_subcommand link" -s q -l quiet -d 'Print errors only'
complete -c board -n "__fish_board_using_subcommand link" -s h -l help -d 'Print help'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "init" -d 'Make a board of our own in a new file, with the tables of Hermes'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "add" -d 'Add a task'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "list" -d 'List tasks in dispatch order'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "show" -d 'Show one task with its attempts, history and comments'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "claim" -d 'Take a task: the one named, or the next ready one for this worker'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "run" -d 'Claim the next ready task of a profile, run a command on it, and say how that ended'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "heartbeat" -d 'Say that the work goes on, and extend the claim'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "comment" -d 'Leave a note for whoever works on it next'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "packet" -d 'Record where the work stands, for whoever takes it up next; without a value: show what was recorded last'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "block" -d 'Stop the work and ask for help with a card; only an orchestrator or a person takes it up again'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "complete" -d 'Finish a task, and let those run that waited for it'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "reassign" -d 'Give a task to another profile'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "unblock" -d 'Set a blocked or parked task free: ready, or todo while it waits for another one'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "protocol" -d 'Print the rules for a worker or an orchestrator, for an AGENTS.md, a system prompt or a skill'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "link" -d 'Make one task wait for another'
complete -c board -n "__fish_board_using_subcommand help; and not __fish_seen_subcommand_from init add list show claim run heartbeat comment packet block complete reassign unblock protocol link help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
