"""The interfaces of other packages on Nuthatch, so that their users change an import."""
