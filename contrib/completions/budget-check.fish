complete -c budget-check -l html -d 'Write the report as one page that needs no network, readable by you alone' -r -F
complete -c budget-check -l task -d 'Look at this task only' -r
complete -c budget-check -l plan -d 'Apply the steps of a plan made by --dry-run --json, under the same guards' -r -F
complete -c budget-check -l facts -d 'Decide on what an earlier pass saw (from --json -v), and change nothing' -r -F
complete -c budget-check -l metrics -d 'Leave what came of this pass in this file (*.prom), for the textfile collector of node_exporter' -r -F
complete -c budget-check -l db -d 'Use this board file and no other (may be repeated)' -r -F
complete -c budget-check -l board -d 'Use this board of the Hermes root (may be repeated) [default: all of them]' -r
complete -c budget-check -l hermes-root -d 'Hermes root [default: as Hermes itself finds it from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c budget-check -l config -d 'Configuration file, instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c budget-check -l now -d 'Take this as the present time (RFC 3339 or epoch seconds)' -r
complete -c budget-check -l comment -d 'Leave one comment on a task for each threshold it went over'
complete -c budget-check -l distress -d 'Ask the orchestrator with a card about running work that is over its bounds, with a draft of a split'
complete -c budget-check -l lint -d 'Only list ready and running tasks whose scope is missing, contradictory, not understood or too broad, with the line to fix'
complete -c budget-check -s n -l dry-run -d 'Look and say what would be done, and change nothing'
complete -c budget-check -l json -d 'Print one JSON object'
complete -c budget-check -s v -l verbose -d 'Also say what was left alone, and why'
complete -c budget-check -s q -l quiet -d 'Print errors only'
complete -c budget-check -s h -l help -d 'Print help'
complete -c budget-check -s V -l version -d 'Print version'
