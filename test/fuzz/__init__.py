"""Coverage-guided fuzzing of the readers; scripts/fuzz.sh runs it, docs/fuzzing.md explains it."""
