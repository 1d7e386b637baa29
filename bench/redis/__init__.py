"""Ours beside redis-server: keys, vector sets, and what the protocol costs a search."""
