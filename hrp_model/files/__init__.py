"""Files: resolving references, bounded reads, atomic writes."""
