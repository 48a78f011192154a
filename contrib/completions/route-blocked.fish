complete -c route-blocked -l task -d 'Look at this task only' -r
complete -c route-blocked -l plan -d 'Apply the steps of a plan made by --dry-run --json, under the same guards' -r -F
complete -c route-blocked -l facts -d 'Decide on what an earlier pass saw (from --json -v), and change nothing' -r -F
complete -c route-blocked -l metrics -d 'Leave what came of this pass in this file (*.prom), for the textfile collector of node_exporter' -r -F
complete -c route-blocked -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c route-blocked -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c route-blocked -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c route-blocked -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c route-blocked -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c route-blocked -s n -l dry-run -d 'Look and say what would be done, and change nothing'
complete -c route-blocked -l json -d 'Print one JSON object'
complete -c route-blocked -s v -l verbose -d 'Also say what was left alone, and why'
complete -c route-blocked -s q -l quiet -d 'Print errors only'
complete -c route-blocked -s h -l help -d 'Print help'
complete -c route-blocked -s V -l version -d 'Print version'
