"""The vector index against its peers: data, adapters, measurement and report. Never built or shipped with the product."""
