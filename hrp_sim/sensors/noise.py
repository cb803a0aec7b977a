"""Random numbers of a sensor as a function of seed, sensor and time."""

from __future__ import annotations

from hashlib import sha256

from numpy.random import Generator, Philox

from hrp_model.rigid import Array


class NoiseSeed:
    """The seed of all noise of a world.

    Attributes:
        value: Any integer; it may be changed between steps.
    """

    def __init__(self, value: int) -> None:
        self.value = value


class Noise:
    """The random numbers of one sensor, a pure function of time.

    They come from a counter-based generator (Philox 4x64, Salmon et al., SC 2011). Its key is
    derived from the seed and the sensor's name, its counter contains the time. So they do not
    depend on earlier samples, on subscribers, or on where a run was restored.

    Args:
        seed: Of the world.
        body: Name of the body that carries the sensor.
        sensor: Name of the sensor.
    """

    def __init__(self, seed: NoiseSeed | int, body: str, sensor: str) -> None:
        self._seed = seed if isinstance(seed, NoiseSeed) else NoiseSeed(seed)
        self._owner = body, sensor
        self._take_seed()

    def normals(self, time_ns: int, count: int, stream: int = 0) -> Array:
        """Return standard normal numbers, shape (count,).

        Args:
            time_ns: Simulation time of the sample, in [ns], -2**63 to 2**64 - 1.
            count: Number of values; the first ones do not depend on it.
            stream: From 0; different streams at one time are independent.
        """
        return self._at(time_ns, stream).standard_normal(count)

    def uniforms(self, time_ns: int, count: int, stream: int = 0) -> Array:
        """Return uniform numbers in [0, 1), shape (count,); arguments as for ``normals``."""
        return self._at(time_ns, stream).random(count)

    def _take_seed(self) -> None:
        self._used_seed = self._seed.value
        # ascii() of the tuple is unambiguous, and works for names that UTF-8 cannot encode.
        digest = sha256(ascii((int(self._used_seed), *self._owner)).encode()).digest()
        self._bits = Philox(key=int.from_bytes(digest[:16], "little"))
        self._generator = Generator(self._bits)
        self._start = self._bits.state

    def _at(self, time_ns: int, stream: int) -> Generator:
        if self._seed.value != self._used_seed:
            self._take_seed()
        counter = self._start["state"]["counter"]
        # The two low words, 128 bits, count the numbers that have been drawn.
        counter[0] = counter[1] = 0
        counter[2], counter[3] = stream, time_ns % 2**64
        self._bits.state = self._start
        return self._generator
