"""Controllers by the names of Choreonoid's samples, which projects state; examples to copy."""

from .table import SAMPLES, Sample, is_sample, sample_for

__all__ = ["SAMPLES", "Sample", "is_sample", "sample_for"]
