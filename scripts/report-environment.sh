#!/usr/bin/env bash
# report-environment.sh FOLDER: the Python environment with the peers of `make report`, made when it is missing or its list has changed.
set -euo pipefail
folder=$1
list=bench/systems/requirements.txt
if cmp -s "$list" "$folder/installed"; then
    exit 0
fi
"${VIRTUAL_ENV:-.venv}/bin/python" -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-input -r "$list"
cp "$list" "$folder/installed"
