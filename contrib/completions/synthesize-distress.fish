complete -c synthesize-distress -l task -d 'Look at this task only' -r
complete -c synthesize-distress -l plan -d 'Apply the steps of a plan made by --dry-run --json, under the same guards' -r -F
complete -c synthesize-distress -l facts -d 'Decide on what an earlier pass saw (from --json -v), and change nothing' -r -F
complete -c synthesize-distress -l metrics -d 'Leave what came of this pass in this file (*.prom), for the textfile collector of node_exporter' -r -F
complete -c synthesize-distress -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c synthesize-distress -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c synthesize-distress -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c synthesize-distress -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c synthesize-distress -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c synthesize-distress -s n -l dry-run -d 'Look and say what would be done, and change nothing'
complete -c synthesize-distress -l json -d 'Print one JSON object'
complete -c synthesize-distress -s v -l verbose -d 'Also say what was left alone, and why'
complete -c synthesize-distress -s q -l quiet -d 'Print errors only'
complete -c synthesize-distress -s h -l help -d 'Print help'
complete -c synthesize-distress -s V -l version -d 'Print version'
