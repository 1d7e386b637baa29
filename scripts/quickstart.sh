#!/usr/bin/env bash
# The main job on real input: adds this repository's guides and the sample corpus, then asks five questions.
set -euo pipefail
cd "$(dirname "$0")/.."
# The command that `make setup` installed, unless another one comes first on purpose.
nuthatch=${NUTHATCH_BIN:-.venv/bin/nuthatch}
folder=.quickstart
# What the user has set for other folders does not belong to this one.
unset NUTHATCH_EMBEDDER NUTHATCH_EMBEDDER_URL NUTHATCH_EMBEDDER_MODEL NUTHATCH_EMBEDDER_DIM

say() { printf '\n==> %s\n' "$*"; }
show() { # prints a command as one would type it, and runs it
    printf '\n$ nuthatch'
    for word in "$@"; do
        case $word in *[!A-Za-z0-9_./=:-]*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
    "$nuthatch" --data-dir "$folder" "$@"
}

say "A fresh data folder: $folder (--data-dir $folder is left out below)"
# Only a folder that is ours is removed.
if [ -e "$folder/NUTHATCH" ]; then rm -rf -- "$folder"; fi

say "Documents in: this repository's guides and a sample corpus. Three of its files hold no readable text, on purpose."
show add README.md docs/start.md docs/guides docs/internals examples/corpus

say "The same again costs a look at each file, no more"
show add README.md docs/start.md docs/guides docs/internals examples/corpus

say "Words are found at once; vectors come in the background"
show search "retry with exponential backoff" --limit 1
say "This waits for them, so that the next questions are answered by meaning, too"
show embed

say "Questions. Each answer: score, then rank and score by words (text) and by meaning (vector)"
show search "how do I get back into my account" --limit 2
show search "which small bird walks down a tree trunk head first" --limit 2
show search "what survives a power cut" --limit 2
show search "retry with exponential backoff" --where "lang = 'python'" --limit 2
show search "honey that has set hard" --where "kind = 'pdf'" --limit 1

say "What it takes"
show stats

cat <<'NEXT'

==> Next
    export PATH="$PWD/.venv/bin:$PATH"       # the nuthatch command
    nuthatch add ~/notes                     # your own files; makes ./.nuthatch
    nuthatch search "what did we decide about backups" --limit 5
    nuthatch search "parser" --where "lang = 'rust' and mtime > '2025-01-01'" --explain
    nuthatch ls; nuthatch doctor; nuthatch --help
    .venv/bin/python -c 'import nuthatch; print(nuthatch.connect(".nuthatch").stats())'
    docs/start.md says more.
NEXT
