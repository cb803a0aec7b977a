"""Random numbers of a sensor: the same for the same seed, sensor and time, whoever listens."""

from __future__ import annotations

from hashlib import sha256

from numpy.random import Generator, Philox

from hrp_model.rigid import Array


class Noise:
    """The noise of one sensor, a pure function of time.

    Numbers come from a counter-based generator (Philox 4x64, Salmon et al., SC 2011) whose key
    is made of the seed and the sensor's name and whose counter holds the time. So they depend
    on no sample before: not on whether anybody listened, and not on where a run went on.

    Args:
        seed: Of the world; any integer.
        body: Name of the body that carries the sensor.
        sensor: Name of the sensor.
    """

    def __init__(self, seed: int, body: str, sensor: str) -> None:
        # ascii() keeps apart what a separator could not, and takes names that UTF-8 cannot.
        digest = sha256(ascii((int(seed), body, sensor)).encode()).digest()
        self._bits = Philox(key=int.from_bytes(digest[:16], "little"))
        self._generator = Generator(self._bits)
        self._start = self._bits.state

    def normals(self, time_ns: int, count: int, stream: int = 0) -> Array:
        """Return numbers of variance 1 about 0, shape (count,).

        Args:
            time_ns: Simulation time of the sample, in [ns], -2**63 to 2**64 - 1.
            count: How many; fewer are the first of more.
            stream: Different streams of one time are independent, also normals of one and
                uniforms of another; from 0.
        """
        return self._at(time_ns, stream).standard_normal(count)

    def uniforms(self, time_ns: int, count: int, stream: int = 0) -> Array:
        """Return numbers in [0, 1), shape (count,); arguments as of ``normals``."""
        return self._at(time_ns, stream).random(count)

    def _at(self, time_ns: int, stream: int) -> Generator:
        counter = self._start["state"]["counter"]
        # The two low words, 128 bits, count the numbers that are drawn.
        counter[0] = counter[1] = 0
        counter[2], counter[3] = stream, time_ns % 2**64
        self._bits.state = self._start
        return self._generator
