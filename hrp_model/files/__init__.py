"""Files: references to them, bounded reads, the one writer of outputs."""
