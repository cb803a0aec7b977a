"""SDF elements of lenses and noise for Gazebo; the inverse of the readers' of SDF."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element

from ...devices import NO_NOISE, AxisNoise, Camera, VectorNoise
from ..xml import element

_FOREVER = 1e12  # [s], for a random walk that never returns
_AXES = ("x", "y", "z")


def noise(errors: AxisNoise) -> Iterator[Element]:
    """Yield the <noise> of a camera or scanner, if there is any."""
    if errors != AxisNoise():
        yield element("noise", element("type", text="gaussian"), *_numbers(errors))


def vector_noise(tag: str, errors: VectorNoise) -> Iterator[Element]:
    """Yield an element with the <noise> of each axis, if there is any."""
    if errors == NO_NOISE:
        return
    vector = element(tag)
    for axis, own in zip(_AXES, errors, strict=True):
        if own != AxisNoise():
            kind = "gaussian_quantized" if own.precision > 0.0 else "gaussian"
            vector.append(element(axis, element("noise", *_numbers(own), type=kind)))
    yield vector


def optics(device: Camera) -> Iterator[Element]:
    """Yield the <distortion> and the <lens> of a camera that has them."""
    if any(device.distortion):
        yield element("distortion", *_elements(device.distortion._asdict()))
    inside = []
    if device.intrinsics is not None:
        inside.append(element("intrinsics", *_elements(device.intrinsics._asdict())))
    if device.rectified is not None:
        intrinsics, x, y = device.rectified
        values = {f"p_{tag}": value for tag, value in intrinsics._asdict().items()}
        inside.append(element("projection", *_elements({**values, "tx": x, "ty": y})))
    if inside:
        yield element("lens", *inside)


def _numbers(errors: AxisNoise) -> list[Element]:
    """Return the numbers of a noise that are not zero."""
    values = {
        "mean": errors.mean,
        "stddev": errors.stdev,
        "bias_stddev": errors.mean_stdev,
        "dynamic_bias_stddev": errors.walk,
        "dynamic_bias_correlation_time": min(errors.correlation_time, _FOREVER),
        "precision": errors.precision,
    }
    if errors.walk == 0.0:
        del values["dynamic_bias_correlation_time"]
    return _elements({tag: value for tag, value in values.items() if value != 0.0})


def _elements(values: Mapping[str, float]) -> list[Element]:
    return [element(tag, text=value) for tag, value in values.items()]
