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

complete -c coord -n "__fish_coord_needs_command" -l server -d 'Ask this server where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c coord -n "__fish_coord_needs_command" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c coord -n "__fish_coord_needs_command" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c coord -n "__fish_coord_needs_command" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c coord -n "__fish_coord_needs_command" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c coord -n "__fish_coord_needs_command" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c coord -n "__fish_coord_needs_command" -l json -d 'Print one JSON object'
complete -c coord -n "__fish_coord_needs_command" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c coord -n "__fish_coord_needs_command" -s q -l quiet -d 'Print errors only'
complete -c coord -n "__fish_coord_needs_command" -s h -l help -d 'Print help'
complete -c coord -n "__fish_coord_needs_command" -s V -l version -d 'Print version'
complete -c coord -n "__fish_coord_needs_command" -f -a "spawn" -d 'Start a session for a task in its own worktree, and print the session'
complete -c coord -n "__fish_coord_needs_command" -f -a "status" -d 'Show the spawned sessions, and the state that their servers report'
complete -c coord -n "__fish_coord_needs_command" -f -a "message" -d 'Send a message to a session'
complete -c coord -n "__fish_coord_needs_command" -f -a "notify" -d 'Send a message to the coordinator of a session'
complete -c coord -n "__fish_coord_needs_command" -f -a "abort" -d 'Stop a session'
complete -c coord -n "__fish_coord_needs_command" -f -a "detect" -d 'Find problems of sessions'
complete -c coord -n "__fish_coord_needs_command" -f -a "events" -d 'Show the events of sessions from the board'
complete -c coord -n "__fish_coord_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c coord -n "__fish_coord_using_subcommand spawn" -l task -d 'Start a session for this task [default: add a new task]' -r
complete -c coord -n "__fish_coord_using_subcommand spawn" -l runtime -d 'Run the session with this' -r -f -a "opencode\t'opencode, on the server of --server'
claude\t'Claude Code, as a command: claude -p'
codex\t'Codex, as a command: codex exec'"
complete -c coord -n "__fish_coord_using_subcommand spawn" -l branch -d 'Work on this branch; a new one begins at the HEAD of the folder of --repo [default: wt/ and the task\'s id]' -r
complete -c coord -n "__fish_coord_using_subcommand spawn" -l name -d 'Name the folder below .worktrees of the repository [default: the task\'s id]' -r
complete -c coord -n "__fish_coord_using_subcommand spawn" -l title -d 'Set the title of the session; without --task also of the new task' -r
complete -c coord -n "__fish_coord_using_subcommand spawn" -l agent -d 'Use this agent of the runtime [default: that of the runtime]' -r
complete -c coord -n "__fish_coord_using_subcommand spawn" -l prompt -d 'Send this prompt instead of the task\'s text; without --task also set the text of the new task' -r
complete -c coord -n "__fish_coord_using_subcommand spawn" -l parent -d 'Set the coordinator of the new session: a session, person:NAME or script:NAME' -r
complete -c coord -n "__fish_coord_using_subcommand spawn" -l repo -d 'Work in the repository of this folder [default: the folder of the task, else the current folder]' -r -F
complete -c coord -n "__fish_coord_using_subcommand spawn" -l server -d 'Ask this server where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c coord -n "__fish_coord_using_subcommand spawn" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c coord -n "__fish_coord_using_subcommand spawn" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c coord -n "__fish_coord_using_subcommand spawn" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c coord -n "__fish_coord_using_subcommand spawn" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c coord -n "__fish_coord_using_subcommand spawn" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c coord -n "__fish_coord_using_subcommand spawn" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c coord -n "__fish_coord_using_subcommand spawn" -l json -d 'Print one JSON object'
complete -c coord -n "__fish_coord_using_subcommand spawn" -s q -l quiet -d 'Print errors only'
complete -c coord -n "__fish_coord_using_subcommand spawn" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c coord -n "__fish_coord_using_subcommand status" -l parent -d 'Show only what this session, person:NAME or script:NAME spawned' -r
complete -c coord -n "__fish_coord_using_subcommand status" -l server -d 'Ask this server where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c coord -n "__fish_coord_using_subcommand status" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c coord -n "__fish_coord_using_subcommand status" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c coord -n "__fish_coord_using_subcommand status" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c coord -n "__fish_coord_using_subcommand status" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c coord -n "__fish_coord_using_subcommand status" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c coord -n "__fish_coord_using_subcommand status" -l active -d 'Show only sessions that have not ended'
complete -c coord -n "__fish_coord_using_subcommand status" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c coord -n "__fish_coord_using_subcommand status" -l json -d 'Print one JSON object'
complete -c coord -n "__fish_coord_using_subcommand status" -s q -l quiet -d 'Print errors only'
complete -c coord -n "__fish_coord_using_subcommand status" -s h -l help -d 'Print help'
complete -c coord -n "__fish_coord_using_subcommand message" -l agent -d 'Let this agent of the runtime answer [default: the agent of the session]' -r
complete -c coord -n "__fish_coord_using_subcommand message" -l server -d 'Ask this server where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c coord -n "__fish_coord_using_subcommand message" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c coord -n "__fish_coord_using_subcommand message" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c coord -n "__fish_coord_using_subcommand message" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c coord -n "__fish_coord_using_subcommand message" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c coord -n "__fish_coord_using_subcommand message" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c coord -n "__fish_coord_using_subcommand message" -l recover -d 'Stop the current turn first, for a session that hangs'
complete -c coord -n "__fish_coord_using_subcommand message" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c coord -n "__fish_coord_using_subcommand message" -l json -d 'Print one JSON object'
complete -c coord -n "__fish_coord_using_subcommand message" -s q -l quiet -d 'Print errors only'
complete -c coord -n "__fish_coord_using_subcommand message" -s h -l help -d 'Print help'
complete -c coord -n "__fish_coord_using_subcommand notify" -l from -d 'The sender: a session, or its task [default: the session of the current worktree]' -r
complete -c coord -n "__fish_coord_using_subcommand notify" -l level -d 'Set the urgency' -r -f -a "info\t'The coordinator reads it when it checks its messages'
warning\t'As info, more urgent'
blocking\t'The session stopped: also write the [BLOCKED] card'"
complete -c coord -n "__fish_coord_using_subcommand notify" -l type -d 'With --level blocking: the type of the card, as in board block' -r
complete -c coord -n "__fish_coord_using_subcommand notify" -l server -d 'Ask this server where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c coord -n "__fish_coord_using_subcommand notify" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c coord -n "__fish_coord_using_subcommand notify" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c coord -n "__fish_coord_using_subcommand notify" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c coord -n "__fish_coord_using_subcommand notify" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c coord -n "__fish_coord_using_subcommand notify" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c coord -n "__fish_coord_using_subcommand notify" -l wake -d 'Let the coordinator answer now [default: for blocking only]'
complete -c coord -n "__fish_coord_using_subcommand notify" -l no-wake -d 'Send the message without waking the coordinator'
complete -c coord -n "__fish_coord_using_subcommand notify" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c coord -n "__fish_coord_using_subcommand notify" -l json -d 'Print one JSON object'
complete -c coord -n "__fish_coord_using_subcommand notify" -s q -l quiet -d 'Print errors only'
complete -c coord -n "__fish_coord_using_subcommand notify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c coord -n "__fish_coord_using_subcommand abort" -l reason -d 'Record the reason' -r
complete -c coord -n "__fish_coord_using_subcommand abort" -l server -d 'Ask this server where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c coord -n "__fish_coord_using_subcommand abort" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c coord -n "__fish_coord_using_subcommand abort" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c coord -n "__fish_coord_using_subcommand abort" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c coord -n "__fish_coord_using_subcommand abort" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c coord -n "__fish_coord_using_subcommand abort" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c coord -n "__fish_coord_using_subcommand abort" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c coord -n "__fish_coord_using_subcommand abort" -l json -d 'Print one JSON object'
complete -c coord -n "__fish_coord_using_subcommand abort" -s q -l quiet -d 'Print errors only'
complete -c coord -n "__fish_coord_using_subcommand abort" -s h -l help -d 'Print help'
complete -c coord -n "__fish_coord_using_subcommand detect" -l session -d 'Check only this session, or the session of this task (may be repeated) [default: all that work or wait for an answer]' -r
complete -c coord -n "__fish_coord_using_subcommand detect" -l since -d 'Ignore what happened before this time: how long ago (10m), yesterday, a date, RFC 3339 or epoch seconds [default: the last request to the session]' -r
complete -c coord -n "__fish_coord_using_subcommand detect" -l store -d 'Read the sessions of opencode from this data folder or file' -r -F
complete -c coord -n "__fish_coord_using_subcommand detect" -l server -d 'Ask this server where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c coord -n "__fish_coord_using_subcommand detect" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c coord -n "__fish_coord_using_subcommand detect" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c coord -n "__fish_coord_using_subcommand detect" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c coord -n "__fish_coord_using_subcommand detect" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c coord -n "__fish_coord_using_subcommand detect" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c coord -n "__fish_coord_using_subcommand detect" -l record -d 'Record the problems on the board, and extend the claims of working sessions'
complete -c coord -n "__fish_coord_using_subcommand detect" -l json -d 'Print one JSON object'
complete -c coord -n "__fish_coord_using_subcommand detect" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c coord -n "__fish_coord_using_subcommand detect" -s q -l quiet -d 'Print errors only'
complete -c coord -n "__fish_coord_using_subcommand detect" -s h -l help -d 'Print help'
complete -c coord -n "__fish_coord_using_subcommand events" -l since -d 'Show only what came after this event: the `next` of the last answer' -r
complete -c coord -n "__fish_coord_using_subcommand events" -l limit -d 'Show at most this many' -r
complete -c coord -n "__fish_coord_using_subcommand events" -l server -d 'Ask this server where the board names none [default: OPENCODE_SERVER, else http://127.0.0.1:4096]' -r
complete -c coord -n "__fish_coord_using_subcommand events" -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c coord -n "__fish_coord_using_subcommand events" -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c coord -n "__fish_coord_using_subcommand events" -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c coord -n "__fish_coord_using_subcommand events" -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c coord -n "__fish_coord_using_subcommand events" -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c coord -n "__fish_coord_using_subcommand events" -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c coord -n "__fish_coord_using_subcommand events" -l json -d 'Print one JSON object'
complete -c coord -n "__fish_coord_using_subcommand events" -s q -l quiet -d 'Print errors only'
complete -c coord -n "__fish_coord_using_subcommand events" -s h -l help -d 'Print help'
complete -c coord -n "__fish_coord_using_subcommand help; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "spawn" -d 'Start a session for a task in its own worktree, and print the session'
complete -c coord -n "__fish_coord_using_subcommand help; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "status" -d 'Show the spawned sessions, and the state that their servers report'
complete -c coord -n "__fish_coord_using_subcommand help; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "message" -d 'Send a message to a session'
complete -c coord -n "__fish_coord_using_subcommand help; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "notify" -d 'Send a message to the coordinator of a session'
complete -c coord -n "__fish_coord_using_subcommand help; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "abort" -d 'Stop a session'
complete -c coord -n "__fish_coord_using_subcommand help; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "detect" -d 'Find problems of sessions'
complete -c coord -n "__fish_coord_using_subcommand help; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "events" -d 'Show the events of sessions from the board'
complete -c coord -n "__fish_coord_using_subcommand help; and not __fish_seen_subcommand_from spawn status message notify abort detect events help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
