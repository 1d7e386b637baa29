"""mneme's tools: ``calibrate`` and ``migrate``."""
