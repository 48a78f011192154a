complete -c synthesize-distress -l task -d 'Check only this task: its id, with or without t_, the start of its id, or words of its title' -r
complete -c synthesize-distress -l plan -d 'Apply the steps of a plan made by --dry-run --json, under the same guards' -r -F
complete -c synthesize-distress -l facts -d 'Decide from the data of an earlier pass (its --json -v output), and change nothing' -r -F
complete -c synthesize-distress -l metrics -d 'Write the metrics of this pass to this file (*.prom), for the textfile collector of node_exporter' -r -F
complete -c synthesize-distress -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c synthesize-distress -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c synthesize-distress -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c synthesize-distress -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c synthesize-distress -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c synthesize-distress -s n -l dry-run -d 'Print what would be done, and change nothing'
complete -c synthesize-distress -l json -d 'Print one JSON object'
complete -c synthesize-distress -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c synthesize-distress -s q -l quiet -d 'Print errors only'
complete -c synthesize-distress -s h -l help -d 'Print help'
complete -c synthesize-distress -s V -l version -d 'Print version'
