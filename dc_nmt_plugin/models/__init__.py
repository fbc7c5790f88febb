"""Models. Flags and presets can be read without torch; :mod:`.registry` registers the models."""
