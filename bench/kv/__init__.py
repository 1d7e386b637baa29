"""Key-value by YCSB's workloads: ours, Pebble and RocksDB side by side. `python -m bench.kv` runs everything and writes the report.

Three programs do the same work (`crates/store/examples/ycsb`, in Go `bench/kv/pebble`); this package decides what is run, in which order, on
which folder, and makes the tables. It needs nothing but Python; the pictures need matplotlib.
"""
