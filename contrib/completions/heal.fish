complete -c heal -l task -d 'Look at this task only' -r
complete -c heal -l plan -d 'Apply the steps of a plan made by --dry-run --json, under the same guards' -r -F
complete -c heal -l facts -d 'Decide on what an earlier pass saw (from --json -v), and change nothing' -r -F
complete -c heal -l metrics -d 'Leave what came of this pass in this file (*.prom), for the textfile collector of node_exporter' -r -F
complete -c heal -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c heal -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c heal -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c heal -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c heal -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c heal -l print-packet -d 'Show what the next attempt at a task would be told, and write nothing' -r
complete -c heal -l print-prompt -d 'Show the whole prompt of the next attempt: the task\'s own text, then what it would be told' -r
complete -c heal -s n -l dry-run -d 'Look and say what would be done, and change nothing'
complete -c heal -l json -d 'Print one JSON object'
complete -c heal -s v -l verbose -d 'Also say what was left alone, and why'
complete -c heal -s q -l quiet -d 'Print errors only'
complete -c heal -l list-checks -d 'Show every health check: its rule, what is done by default, and what is done here'
complete -c heal -s h -l help -d 'Print help'
complete -c heal -s V -l version -d 'Print version'
