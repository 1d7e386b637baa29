"""Ours against redis-server: keys, vector sets, and the cost of the protocol to a search."""
