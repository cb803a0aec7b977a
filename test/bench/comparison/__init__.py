"""Compare the speed of hrp_sim with hand-written programs that do the same work."""
