#!/usr/bin/env bash
# docs.sh FOLDER PROGRAM…: builds the site of the documents into FOLDER/html. The tools are in an environment of their own,
# FOLDER/environment, which is made when it is missing or their list has changed.
set -euo pipefail
folder=$1
shift
list=scripts/website/requirements.txt
environment=$folder/environment
if ! cmp -s "$list" "$environment/installed"; then
    "${VIRTUAL_ENV:-.venv}/bin/python" -m venv "$environment"
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-input -r "$list"
    cp "$list" "$environment/installed"
fi
PYTHONPATH=python/src "$environment/bin/python" scripts/website/build.py . "$folder" "$@"
