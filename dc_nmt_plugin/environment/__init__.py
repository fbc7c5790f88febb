"""Checks of the environment, and the command that installs each missing part."""
