#!/bin/bash
# Does the server answer /readyz with 200? Without curl, which the image does not have. With TLS: is the port open?
set -euo pipefail
port=${NUTHATCH_LISTEN##*:}
exec 3<>"/dev/tcp/127.0.0.1/$port"
[ -z "${NUTHATCH_TLS_CERT:-}" ] || exit 0
printf 'GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
read -r -t 4 _ status _ <&3
[ "$status" = 200 ]
