"""Coverage-guided fuzzing of the readers; scripts/fuzz.sh runs it, docs/safety.md explains it."""
