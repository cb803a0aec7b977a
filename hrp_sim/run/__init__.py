"""Run a simulation: real-time pace, lock-step, calls from other threads, health."""
