"""Many runs: cases and studies, learning, benchmarks, certificates."""
