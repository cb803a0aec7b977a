"""What all programs share: console, arguments, exit status, reports of diagnostics."""
