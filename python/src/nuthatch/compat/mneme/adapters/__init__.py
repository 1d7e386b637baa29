"""Hooks that count a cache's events where an application's other metrics are: pass one as ``metrics_hook``."""
