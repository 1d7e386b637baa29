#!/usr/bin/env bash
# Writes docs/openapi.json as the code says it. The arguments are cargo's selection of packages.
set -euo pipefail
NUTHATCH_WRITE_OPENAPI=1 cargo test "$@" --test server -- --exact http::the_document_is_served_as_it_lies_in_the_tree
