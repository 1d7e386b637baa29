# To be sourced: a server of its own for a suite. Wants `command`, the built `nuthatch`; gives `work`, a folder that goes with the script, and the functions below.
work=$(mktemp -d)
server=
finish() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    [ -z "$server" ] || wait "$server" 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT

# Serves $work/memory with these options more; gives `address` once it is ready.
start_server() {
    "$command" serve --data-dir "$work/memory" --listen 127.0.0.1:0 --log-format json "$@" 2>"$work/log" &
    server=$!
    until grep -q '"message":"ready"' "$work/log"; do
        kill -0 "$server" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
        sleep 0.1
    done
    address=$(grep -om1 '"address":"[^"]*"' "$work/log" | cut -d'"' -f4)
}

# Whatever the suite did, the server must end in good order, and the folder must be whole.
end_server() {
    kill "$server" && wait "$server"
    server=
    "$command" doctor --data-dir "$work/memory"
}
