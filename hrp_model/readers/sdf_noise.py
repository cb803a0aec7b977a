"""Read <noise> of sensors of SDF."""

from __future__ import annotations

from math import inf

from ..devices import NO_NOISE, AxisNoise, VectorNoise
from .sdf_values import SdfReader

_GAUSSIAN = "gaussian"
_QUANTIZED = "gaussian_quantized"
_AXES = ("x", "y", "z")


def axis_noise(noise: SdfReader | None) -> AxisNoise:
    """Return the errors that a <noise> states; its type is an attribute or an element.

    The bias is drawn once for a run, and its slow variation is added to it.
    """
    if noise is None or not _is_gaussian(noise):
        return AxisNoise()
    walk = noise.non_negative("dynamic_bias_stddev")
    time = noise.non_negative("dynamic_bias_correlation_time")
    is_drifting = walk > 0.0 and time > 0.0
    if (walk > 0.0 or time > 0.0) and not is_drifting:
        message = "a dynamic bias needs a dynamic_bias_stddev and a dynamic_bias_correlation_time"
        noise.warn("not-used", f"{message} above 0; it is ignored")
    precision = noise.non_negative("precision")
    is_quantized = _kind(noise) == _QUANTIZED
    if precision > 0.0 and not is_quantized:
        noise.warn("not-used", f"<precision> needs the noise type {_QUANTIZED}; it is ignored")
    return AxisNoise(
        mean=noise.number("mean", default=0.0) + noise.number("bias_mean", default=0.0),
        mean_stdev=noise.non_negative("bias_stddev"),
        stdev=noise.non_negative("stddev"),
        walk=walk if is_drifting else 0.0,
        correlation_time=time if is_drifting else inf,
        precision=precision if is_quantized else 0.0,
    )


def steady_noise(noise: SdfReader | None) -> AxisNoise:
    """Return the errors of a sensor whose readings neither drift nor are rounded."""
    errors = axis_noise(noise)
    if noise is not None and (errors.walk > 0.0 or errors.precision > 0.0):
        message = "the drift and the precision of this sensor are not simulated, only the rest"
        noise.warn("not-used", f"{message} of its noise")
    return errors


def vector_noise(vector: SdfReader | None) -> VectorNoise:
    """Return the errors of the elements <x>, <y> and <z>, each with a <noise>."""
    if vector is None:
        return NO_NOISE
    x, y, z = (axis_noise(vector.inside(axis, "noise")) for axis in _AXES)
    return x, y, z


def same_noise(noise: SdfReader, part: str) -> VectorNoise:
    """Return the errors of all axes, of a <noise> as in SDF 1.4, with a <rate> and an <accel>."""
    values = noise.inside(part)
    if values is None or not _is_gaussian(noise):
        return NO_NOISE
    errors = AxisNoise(
        mean=values.number("mean", default=0.0) + values.number("bias_mean", default=0.0),
        mean_stdev=values.non_negative("bias_stddev"),
        stdev=values.non_negative("stddev"),
    )
    return errors, errors, errors


def _kind(noise: SdfReader) -> str:
    return noise.text("type") or noise.element.attributes.get("type", _GAUSSIAN)


def _is_gaussian(noise: SdfReader) -> bool:
    kind = _kind(noise)
    if kind not in ("none", _GAUSSIAN, _QUANTIZED):
        message = f"noise of type '{kind}' is not simulated, only {_GAUSSIAN} and {_QUANTIZED}"
        noise.warn("not-used", message)
    return kind in (_GAUSSIAN, _QUANTIZED)
