"""mneme's tools: ``calibrate``."""
