complete -c budget-check -l html -d 'Write the result as one HTML page that needs no network and that only you can read; see also `watchbill page`' -r -F
complete -c budget-check -l task -d 'Check only this task: its id, with or without t_, the start of its id, or words of its title' -r
complete -c budget-check -l plan -d 'Apply the steps of a plan made by --dry-run --json, under the same guards' -r -F
complete -c budget-check -l facts -d 'Decide from the data of an earlier pass (its --json -v output), and change nothing' -r -F
complete -c budget-check -l metrics -d 'Write the metrics of this pass to this file (*.prom), for the textfile collector of node_exporter' -r -F
complete -c budget-check -l db -d 'Use only this board: a file, or postgres://HOST/DATABASE (may be repeated)' -r -F
complete -c budget-check -l board -d 'Use only this board of the Hermes root (may be repeated) [default: all boards]' -r
complete -c budget-check -l hermes-root -d 'Use this Hermes root [default: found as Hermes does, from HERMES_KANBAN_HOME, HERMES_HOME, HOME]' -r -F
complete -c budget-check -l config -d 'Read this configuration file instead of /etc/watchbill/config.toml and ~/.config/watchbill/config.toml' -r -F
complete -c budget-check -l now -d 'Use this as the current time (RFC 3339 or epoch seconds); a change then needs --db' -r
complete -c budget-check -l comment -d 'Add one comment to a task for each limit that it exceeds'
complete -c budget-check -l distress -d 'Write a card to the orchestrator for each running task over its limits, with a draft of a split'
complete -c budget-check -l lint -d 'Only list ready and running tasks with a scope that is missing, contradictory, not understood or too broad, with the line to fix'
complete -c budget-check -s n -l dry-run -d 'Print what would be done, and change nothing'
complete -c budget-check -l json -d 'Print one JSON object'
complete -c budget-check -s v -l verbose -d 'Also print what was skipped, and the reason'
complete -c budget-check -s q -l quiet -d 'Print errors only'
complete -c budget-check -s h -l help -d 'Print help'
complete -c budget-check -s V -l version -d 'Print version'
