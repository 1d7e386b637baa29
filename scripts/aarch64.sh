#!/usr/bin/env bash
# The tests of the SIMD kernels, and of the files that they read, on aarch64 as qemu emulates it: NEON, and no AVX.
#
# These crates have no C code, so Rust's own linker and musl libc are enough: `rustup target add aarch64-unknown-linux-musl`
# and qemu-aarch64 (Debian: qemu-user-static). A machine that lacks one of them says so and skips.
set -euo pipefail
target=aarch64-unknown-linux-musl

skip() {
    echo "    SKIPPED: $1"
    exit 0
}

runner=$(command -v qemu-aarch64 || command -v qemu-aarch64-static) || skip "no qemu-aarch64; Debian: apt-get install qemu-user-static"
[ -d "$(rustc --print sysroot)/lib/rustlib/$target" ] || skip "no $target; run: rustup target add $target"
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER=$runner
cargo test --quiet --release --locked --target "$target" "$@" \
    -p nuthatch-distance -p nuthatch-segment -p nuthatch-sparse
