# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_coord_global_optspecs
    string join \n server= db= board= hermes-root= config= json v/verbose q/quiet now= h/help V/version
end

function __fish_coord_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_coord_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_coord_using_subcommand
    set -l cmd (__fish_coord_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c coord -n "__fish_coord_needs_command" -l server -d 'The server to ask where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c coord -n "__fish_coord_needs_command" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c coord -n "__fish_coord_needs_command" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c coord -n "__fish_coord_needs_command" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c coord -n "__fish_coord_needs_command" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c coord -n "__fish_coord_needs_command" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c coord -n "__fish_coord_needs_command" -l json -d 'Print one JSON object'
complete -c coord -n "__fish_coord_needs_command" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c coord -n "__fish_coord_needs_command" -s q -l quiet -d 'Print errors only'
complete -c coord -n "__fish_coord_needs_command" -s h -l help -d 'Print help'
complete -c coord -n "__fish_coord_needs_command" -s V -l version -d 'Print version'
complete -c coord -n "__fish_coord_needs_command" -f -a "spawn" -d 'Start a session for a task, in a working tree of its own; prints the session'
complete -c coord -n "__fish_coord_needs_command" -f -a "status" -d 'Show the sessions that were spawned, and what their servers say of them'
complete -c coord -n "__fish_coord_needs_command" -f -a "message" -d 'Say something to a session'
complete -c coord -n "__fish_coord_needs_command" -f -a "notify" -d 'Tell the coordinator of a session something'
complete -c coord -n "__fish_coord_needs_command" -f -a "abort" -d 'Stop a session'
complete -c coord -n "__fish_coord_needs_command" -f -a "detect" -d 'Find what is wrong with sessions'
complete -c coord -n "__fish_coord_needs_command" -f -a "events" -d 'Show what happened to sessions, as the board recorded it'
complete -c coord -n "__fish_coord_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c coord -n "__fish_coord_using_subcommand spawn" -l task -d 'The task [default: a new one is added]' -r
complete -c coord -n "__fish_coord_using_subcommand spawn" -l runtime -d 'What runs the session' -r -f -a "opencode\t'By the server of --server'
claude\t'Claude Code, as a command: claude -p'
codex\t'Codex, as a command: codex exec'"
complete -c coord -n "__fish_coord_using_subcommand spawn" -l branch -d 'The branch to work on [default: wt/ and the task\'s id]' -r
complete -c coord -n "__fish_coord_using_subcommand spawn" -l name -d 'The folder\'s name below .worktrees of the repository [default: the task\'s id]' -r
complete -c coord -n "__fish_coord_using_subcommand spawn" -l title -d 'The session\'s title; without --task also the new task\'s' -r
complete -c coord -n "__fish_coord_using_subcommand spawn" -l agent -d 'The agent of the runtime that works [default: the runtime\'s own]' -r
complete -c coord -n "__fish_coord_using_subcommand spawn" -l prompt -d 'What to do, in the place of the task\'s text; without --task also the new task\'s text' -r
complete -c coord -n "__fish_coord_using_subcommand spawn" -l parent -d 'Who coordinates the new session: a session, person:NAME or script:NAME' -r
complete -c coord -n "__fish_coord_using_subcommand spawn" -l repo -d 'A folder of the repository to work in [default: this one]' -r -F
complete -c coord -n "__fish_coord_using_subcommand spawn" -l server -d 'The server to ask where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c coord -n "__fish_coord_using_subcommand spawn" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c coord -n "__fish_coord_using_subcommand spawn" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c coord -n "__fish_coord_using_subcommand spawn" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c coord -n "__fish_coord_using_subcommand spawn" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c coord -n "__fish_coord_using_subcommand spawn" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c coord -n "__fish_coord_using_subcommand spawn" -l json -d 'Print one JSON object'
complete -c coord -n "__fish_coord_using_subcommand spawn" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c coord -n "__fish_coord_using_subcommand spawn" -s q -l quiet -d 'Print errors only'
complete -c coord -n "__fish_coord_using_subcommand spawn" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c coord -n "__fish_coord_using_subcommand status" -l parent -d 'Only what this session, person:NAME or script:NAME spawned' -r
complete -c coord -n "__fish_coord_using_subcommand status" -l server -d 'The server to ask where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c coord -n "__fish_coord_using_subcommand status" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c coord -n "__fish_coord_using_subcommand status" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c coord -n "__fish_coord_using_subcommand status" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c coord -n "__fish_coord_using_subcommand status" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c coord -n "__fish_coord_using_subcommand status" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c coord -n "__fish_coord_using_subcommand status" -l active -d 'Only sessions whose work has not ended'
complete -c coord -n "__fish_coord_using_subcommand status" -l json -d 'Print one JSON object'
complete -c coord -n "__fish_coord_using_subcommand status" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c coord -n "__fish_coord_using_subcommand status" -s q -l quiet -d 'Print errors only'
complete -c coord -n "__fish_coord_using_subcommand status" -s h -l help -d 'Print help'
complete -c coord -n "__fish_coord_using_subcommand message" -l agent -d 'Let this agent of the runtime answer [default: the session\'s own]' -r
complete -c coord -n "__fish_coord_using_subcommand message" -l server -d 'The server to ask where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c coord -n "__fish_coord_using_subcommand message" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c coord -n "__fish_coord_using_subcommand message" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c coord -n "__fish_coord_using_subcommand message" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c coord -n "__fish_coord_using_subcommand message" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c coord -n "__fish_coord_using_subcommand message" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c coord -n "__fish_coord_using_subcommand message" -l recover -d 'Stop the present turn first, for a session that hangs'
complete -c coord -n "__fish_coord_using_subcommand message" -l json -d 'Print one JSON object'
complete -c coord -n "__fish_coord_using_subcommand message" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c coord -n "__fish_coord_using_subcommand message" -s q -l quiet -d 'Print errors only'
complete -c coord -n "__fish_coord_using_subcommand message" -s h -l help -d 'Print help'
complete -c coord -n "__fish_coord_using_subcommand notify" -l from -d 'Whose word it is: a session, or the task it works on [default: the session in whose tree this runs]' -r
complete -c coord -n "__fish_coord_using_subcommand notify" -l level -d 'How urgent it is' -r -f -a "info\t'For whenever it looks'
warning\t'The same, more urgent'
blocking\t'The work has stopped: also writes the [BLOCKED] card'"
complete -c coord -n "__fish_coord_using_subcommand notify" -l type -d 'With --level blocking: the type of the card, as of board block' -r
complete -c coord -n "__fish_coord_using_subcommand notify" -l server -d 'The server to ask where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c coord -n "__fish_coord_using_subcommand notify" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c coord -n "__fish_coord_using_subcommand notify" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c coord -n "__fish_coord_using_subcommand notify" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c coord -n "__fish_coord_using_subcommand notify" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c coord -n "__fish_coord_using_subcommand notify" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c coord -n "__fish_coord_using_subcommand notify" -l wake -d 'Let the coordinator answer at once [default: for blocking only]'
complete -c coord -n "__fish_coord_using_subcommand notify" -l no-wake -d 'Only leave the message there'
complete -c coord -n "__fish_coord_using_subcommand notify" -l json -d 'Print one JSON object'
complete -c coord -n "__fish_coord_using_subcommand notify" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c coord -n "__fish_coord_using_subcommand notify" -s q -l quiet -d 'Print errors only'
complete -c coord -n "__fish_coord_using_subcommand notify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c coord -n "__fish_coord_using_subcommand abort" -l reason -d 'Why' -r
complete -c coord -n "__fish_coord_using_subcommand abort" -l server -d 'The server to ask where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c coord -n "__fish_coord_using_subcommand abort" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c coord -n "__fish_coord_using_subcommand abort" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c coord -n "__fish_coord_using_subcommand abort" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c coord -n "__fish_coord_using_subcommand abort" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c coord -n "__fish_coord_using_subcommand abort" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c coord -n "__fish_coord_using_subcommand abort" -l json -d 'Print one JSON object'
complete -c coord -n "__fish_coord_using_subcommand abort" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c coord -n "__fish_coord_using_subcommand abort" -s q -l quiet -d 'Print errors only'
complete -c coord -n "__fish_coord_using_subcommand abort" -s h -l help -d 'Print help'
complete -c coord -n "__fish_coord_using_subcommand detect" -l session -d 'Only this session, or that of this task; may be given again [default: all at work, and all that wait for an answer]' -r
complete -c coord -n "__fish_coord_using_subcommand detect" -l since -d 'Count nothing that happened before: a time, or how long ago [default: since somebody last asked for something]' -r
complete -c coord -n "__fish_coord_using_subcommand detect" -l store -d 'Where opencode keeps its sessions on this machine: its data folder, or the file itself' -r -F
complete -c coord -n "__fish_coord_using_subcommand detect" -l server -d 'The server to ask where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c coord -n "__fish_coord_using_subcommand detect" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c coord -n "__fish_coord_using_subcommand detect" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c coord -n "__fish_coord_using_subcommand detect" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c coord -n "__fish_coord_using_subcommand detect" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c coord -n "__fish_coord_using_subcommand detect" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c coord -n "__fish_coord_using_subcommand detect" -l record -d 'Record what is found on the board, and renew the claims of sessions that are at work'
complete -c coord -n "__fish_coord_using_subcommand detect" -l json -d 'Print one JSON object'
complete -c coord -n "__fish_coord_using_subcommand detect" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c coord -n "__fish_coord_using_subcommand detect" -s q -l quiet -d 'Print errors only'
complete -c coord -n "__fish_coord_using_subcommand detect" -s h -l help -d 'Print help'
complete -c coord -n "__fish_coord_using_subcommand events" -l since -d 'Only what came after this event: the number that the last answer gave as `next`' -r
complete -c coord -n "__fish_coord_using_subcommand events" -l limit -d 'At most this many' -r
complete -c coord -n "__fish_coord_using_subcommand events" -l server -d 'The server to ask where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c coord -n "__fish_coord_using_subcommand events" -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c coord -n "__fish_coord_using_subcommand events" -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c coord -n "__fish_coord_using_subcommand events" -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c coord -n "__fish_coord_using_subcommand events" -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c coord -n "__fish_coord_using_subcommand events" -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c coord -n "__fish_coord_using_subcommand events" -l json -d 'Print one JSON object'
complete -c coord -n "__fish_coord_using_subcommand events" -s v -l verbose -d 'Also say what was left alone, and why'
complete -c coord -n "__fish_coord_using_subcommand events" -s q -l quiet -d 'Print errors only'
complete -c coord -n "__fish_coord_using_subcommand events" -s h -l help -d 'Print help'
complete -c coord -n "__fish_coord_using_subcommand help; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "spawn" -d 'Start a session for a task, in a working tree of its own; prints the session'
complete -c coord -n "__fish_coord_using_subcommand help; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "status" -d 'Show the sessions that were spawned, and what their servers say of them'
complete -c coord -n "__fish_coord_using_subcommand help; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "message" -d 'Say something to a session'
complete -c coord -n "__fish_coord_using_subcommand help; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "notify" -d 'Tell the coordinator of a session something'
complete -c coord -n "__fish_coord_using_subcommand help; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "abort" -d 'Stop a session'
complete -c coord -n "__fish_coord_using_subcommand help; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "detect" -d 'Find what is wrong with sessions'
complete -c coord -n "__fish_coord_using_subcommand help; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "events" -d 'Show what happened to sessions, as the board recorded it'
complete -c coord -n "__fish_coord_using_subcommand help; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
