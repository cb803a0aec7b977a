"""The plugin of pytest that runs scenarios of robots; see docs/testing.md."""
