"""Bodies that slide, spin and pivot on a plane, beside closed forms and MuJoCo.

The closed forms have a pressure that is uniform or linear; MuJoCo reads the same model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.optimize import minimize
from sim.physics.scenes import (
    TRACK,
    G,
    Y,
    Z,
    at,
    box_inertia,
    child,
    floor,
    moving,
    placed,
    root,
    world,
)

from hrp_model import Body, load_body_text
from hrp_model.geometry import Box
from hrp_model.rigid import Array, axis_angle_matrix
from hrp_sim.engine.state import SimulatedBody

MU, STEP = 0.3, 1e-3
HEADER = ["friction of 0.3; tracks 1.0 along and 0.5 across", "exact", "here", "MuJoCo"]
DISC, BOX, BALL = 0.1, np.array([0.3, 0.2, 0.02]), 0.1  # radius, sides, radius, in [m]
SPIN = 8.0  # [rad/s]
WHEEL, SPEED = 0.033, 3.0  # radius in [m], rate in [rad/s]


@dataclass(frozen=True)
class Contacts:
    """Points on a plane that carry loads, with the velocities of their surfaces.

    Attributes:
        points: Shape (n, 2), in [m].
        loads: Shape (n,), in [N].
        surfaces: Velocities that a body without slip would have there, shape (n, 2), in [m/s].
        mu: Coefficients along x and y.
    """

    points: Array
    loads: Array
    surfaces: Array
    mu: tuple[float, float] = (MU, MU)

    def force(self, motion: Array) -> Array:
        """Return force and moment on a body that moves by vx, vy, w."""
        slip = self._slip(motion) * self.mu
        f = -slip / np.maximum(np.linalg.norm(slip, axis=1), 1e-15)[:, None]
        f *= self.loads[:, None] * self.mu
        x, y = self.points.T
        return np.array([*f.sum(axis=0), (x * f[:, 1] - y * f[:, 0]).sum()])

    def steady(self) -> Array:
        """Return the steady motion vx, vy, w, which dissipates the least power."""
        result = minimize(
            lambda motion: float(self.loads @ np.linalg.norm(self._slip(motion) * self.mu, axis=1)),
            np.array([0.0, 0.0, 1.0]),
            method="Nelder-Mead",
            options={"xatol": 1e-10, "fatol": 1e-14, "maxiter": 5000},
        )
        return np.asarray(result.x)

    def _slip(self, motion: Array) -> Array:
        vx, vy, w = motion
        x, y = self.points.T
        return np.column_stack([vx - w * y, vy + w * x]) - self.surfaces


def rectangle(size: Array, load: float, n: int = 60) -> Contacts:
    """Return the contacts of a face with uniform pressure."""
    u, weight = np.polynomial.legendre.leggauss(n)
    x, y = np.meshgrid(u * size[0] / 2.0, u * size[1] / 2.0)
    loads = load * np.outer(weight, weight).ravel() / 4.0
    return Contacts(np.column_stack([x.ravel(), y.ravel()]), loads, np.zeros((n * n, 2)))


def motion_of(contacts: Contacts, inertia: float, start: Array, time: float) -> Array:
    """Return the motion vx, vy, w of a body of 1 kg after a time."""
    steps, motion, angle = 2000, np.array(start, float), 0.0
    for _ in range(steps):
        c, s = np.cos(angle), np.sin(angle)
        turned = contacts.points @ np.array([[c, s], [-s, c]])
        force = Contacts(turned, contacts.loads, contacts.surfaces).force(motion)
        motion = motion + force / [1.0, 1.0, inertia] * time / steps
        angle += motion[2] * time / steps
    return motion


def wheels(places: Sequence[tuple[float, float, float]], width: float, mass: float) -> Contacts:
    """Return the lines on which wheels stand that share a mass, with their rates."""
    across = (np.arange(400) + 0.5) / 400.0 - 0.5
    points = np.concatenate([[[x, y + width * u] for u in across] for x, y, _ in places])
    speeds = np.repeat([rate * WHEEL for _, _, rate in places], 400)
    loads = np.full(len(points), mass * G / len(points))
    return Contacts(points, loads, np.column_stack([speeds, np.zeros_like(speeds)]))


def vehicle(places: Sequence[tuple[float, float, float]], width: float) -> str:
    """Return the MJCF of a chassis of 1 kg with wheels."""
    parts = ""
    for i, (x, y, _) in enumerate(places):
        parts += (
            f'<body name="w{i}" pos="{x} {y} 0"><joint name="j{i}" axis="0 1 0"/>'
            f'<geom type="cylinder" size="{WHEEL} {width / 2}" zaxis="0 1 0" mass="0.03" '
            f'friction="{MU}"/></body>'
        )
    motors = "".join(f'<velocity joint="j{i}" kv="100"/>' for i in range(len(places)))
    inertial = '<inertial pos="0 0 -0.02" mass="1" diaginertia="0.002 0.002 0.002"/>'
    body = f'<body name="v"><freejoint/>{inertial}{parts}</body>'
    return _mjcf(body, f"<actuator>{motors}</actuator>")


def lone(geom: str, inertia: Array) -> str:
    """Return the MJCF of one free body of 1 kg."""
    moments = " ".join(map(str, inertia))
    return _mjcf(
        f'<body name="v"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="{moments}"/>'
        f'<geom {geom} friction="{MU}"/></body>'
    )


def brick() -> str:
    """Return the MJCF of the box."""
    half = " ".join(map(str, BOX / 2.0))
    return lone(f'type="box" size="{half}"', np.diag(box_inertia(1.0, BOX)))


def _mjcf(body: str, rest: str = "") -> str:
    return (
        f'<mujoco><option timestep="{STEP}" gravity="0 0 {-G}" cone="elliptic" impratio="10" '
        f'integrator="implicitfast"/><worldbody>%s{body}</worldbody>{rest}</mujoco>'
    )


def here(text: str, height: float, start: Array, steps: int, rates: Sequence[float] = ()) -> Array:
    """Return the motion vx, vy, w here; of a vehicle its mean in the second half."""
    engine, _, body = world(
        floor(),
        moving(
            load_body_text(text % "", kind="mjcf"),
            at(z=height),
            v=[*start[:2], 0.0],
            w=start[2] * Z,
        ),
    )
    body.drive.kd[:], body.drive.dq[:] = 100.0, rates
    return _measured(body, engine.step, steps, bool(rates))


def _measured(body: SimulatedBody, step: Callable[[int], None], steps: int, is_mean: bool) -> Array:
    step(steps)
    if is_mean:
        before = _pose(body)
        step(steps)
        _, yaw = _pose(body)
        turned = (yaw - before[1] + np.pi) % (2.0 * np.pi) - np.pi
        return np.array([0.0, 0.0, turned / (steps * STEP)])
    return np.array([*body.motion.v[0, :2], body.motion.w[0, 2]])


def _pose(body: SimulatedBody) -> tuple[Array, float]:
    R = body.motion.R[0]
    return body.motion.p[0].copy(), float(np.arctan2(R[1, 0], R[0, 0]))


def peer(text: str, height: float, start: Array, steps: int, rates: Sequence[float] = ()) -> Array:
    """Return the same in MuJoCo."""
    model, data = _on_plane(text, height)
    data.qvel[:6] = [*start[:2], 0.0, 0.0, 0.0, start[2]]
    data.ctrl[:] = rates
    mujoco.mj_step(model, data, steps)
    if rates:
        yaw = _yaw(data)
        mujoco.mj_step(model, data, steps)
        turned = (_yaw(data) - yaw + np.pi) % (2.0 * np.pi) - np.pi
        return np.array([0.0, 0.0, turned / (steps * STEP)])
    return np.array([*data.qvel[:2], data.qvel[5]])


def _on_plane(text: str, height: float) -> tuple[mujoco.MjModel, mujoco.MjData]:
    plane = f'<geom type="plane" size="9 9 1" friction="{MU}"/>'
    model = mujoco.MjModel.from_xml_string(text % plane)
    data = mujoco.MjData(model)
    data.qpos[2] = height
    return model, data


def _yaw(data: mujoco.MjData) -> float:
    R = data.body("v").xmat.reshape(3, 3)
    return float(np.arctan2(R[1, 0], R[0, 0]))


def tracked() -> tuple[float, float]:
    """Return the yaw rate of two tracks that run against each other: by closed form, and here."""
    length, width, apart, speed = 0.4, 0.06, 0.3, 0.3
    side = 0.5  # friction across a track
    n = 80
    u = (np.arange(n) + 0.5) / n - 0.5
    x, y = (a.ravel() for a in np.meshgrid(u * length, u[::4] * width))
    points = np.concatenate([np.column_stack([x, y + s * apart / 2.0]) for s in (1.0, -1.0)])
    surfaces = np.zeros_like(points)
    surfaces[:, 0] = np.repeat([-speed, speed], len(x))
    contacts = Contacts(points, np.ones(len(points)), surfaces, (1.0, side))
    shape = placed(Box(np.array([length, width, 0.05])))
    links = [root("BASE", free=True, mass=10.0, inertia=0.1 * np.eye(3))]
    for name, s in (("LEFT", 1.0), ("RIGHT", -1.0)):
        links.append(child(name, "BASE", TRACK, Y, X_PL=at(y=s * apart / 2.0), collision=(shape,)))
    engine, _, body = world(floor(), moving(Body(name="tank", links=tuple(links)), at(z=0.025)))
    body.drive.track_speed[1:] = -speed, speed
    return float(contacts.steady()[2]), float(_measured(body, engine.step, 1000, True)[2])


def _wheeled(what: str, places: Sequence[tuple[float, float]], width: float) -> list[str]:
    """Return a row of a vehicle that turns on the spot: left wheels backward."""
    driven = [(x, y, -SPEED if y > 0.0 else SPEED) for x, y in places]
    rates = [rate for _, _, rate in driven]
    exact = wheels(driven, width, 1.0 + 0.03 * len(places)).steady()[2]
    text, still = vehicle(driven, width), np.zeros(3)
    found = (f(text, WHEEL + 1e-3, still, 1000, rates)[2] for f in (here, peer))
    return [f"{what}: yaw rate [rad/s]", *(f"{x:.4f}" for x in (exact, *found))]


def rows() -> Iterator[list[str]]:
    """Yield the rows of the table."""
    for width in (0.018, 0.04, 0.06):
        places = [(0.0, 0.08), (0.0, -0.08)]
        yield _wheeled(f"two wheels, {width * 1e3:.0f} mm wide", places, width)
    four = [(x, y) for x in (0.1, -0.1) for y in (0.15, -0.15)]
    yield _wheeled("four wheels that skid", four, 0.03)
    yield ["two tracks: yaw rate [rad/s]", *(f"{x:.4f}" for x in tracked()), "-"]
    inertia = 0.5 * DISC**2
    disc = lone(f'type="cylinder" size="{DISC} 0.02"', np.array([0.003, 0.003, inertia]))
    start = np.array([0.0, 0.0, SPIN])
    exact = SPIN - 2.0 / 3.0 * MU * G * DISC / inertia * 0.1
    found = (f(disc, 0.02, start, 100)[2] for f in (here, peer))
    yield ["disc that spins: rate after 0.1 s [rad/s]", *(f"{x:.4f}" for x in (exact, *found))]
    moment, face, box = box_inertia(1.0, BOX)[2, 2], rectangle(BOX, G), brick()
    for what, vx in (("spins", 0.0), ("slides and spins", 1.0)):
        start = np.array([vx, 0.0, SPIN])
        motions = [motion_of(face, moment, start, 0.1)]
        motions += [f(box, BOX[2] / 2.0, start, 100) for f in (here, peer)]
        yield [f"box that {what}: rate after 0.1 s [rad/s]", *(f"{m[2]:.4f}" for m in motions)]
        if vx:
            yield ["the same: speed [m/s]", *(f"{np.hypot(*m[:2]):.4f}" for m in motions)]
    ball = lone(f'type="sphere" size="{BALL}"', np.full(3, 0.4 * BALL**2))
    start = np.array([1.0, 0.0, 0.0])
    found = (f(ball, BALL, start, 400)[0] for f in (here, peer))
    yield ["ball that slides until it rolls: speed [m/s]",
           *(f"{x:.4f}" for x in (5.0 / 7.0, *found))]  # fmt: skip
    yield pushed_on_slope()


def pushed_on_slope() -> list[str]:
    """Return the row of a block on a slope that holds it, pushed across beyond the rest."""
    angle, push, time = 0.2, 3.0, 0.5  # [rad], [N], [s]
    down, across = G * np.sin(angle), push
    pull = np.hypot(down, across)
    exact = (pull - MU * G * np.cos(angle)) * time
    R = axis_angle_matrix(Y, angle)
    link = root(free=True, collision=(placed(Box(BOX)),), inertia=box_inertia(1.0, BOX))
    body, X_WL = Body(name="block", links=(link,)), at(*(R @ [0, 0, BOX[2] / 2.0]), R)
    engine, _, block = world(floor(R=R), moving(body, X_WL), friction=MU)
    block.wrench.force[0] = across * Y
    engine.step(int(time / STEP))
    text = brick().replace(f"0 0 {-G}", f"{down} 0 {-G * np.cos(angle)}")
    model, data = _on_plane(text, BOX[2] / 2.0)
    data.qfrc_applied[1] = across
    mujoco.mj_step(model, data, int(time / STEP))
    found = np.linalg.norm(block.motion.v[0]), np.linalg.norm(data.qvel[:3])
    what = "block pushed across a slope: speed after 0.5 s [m/s]"
    return [what, *(f"{x:.4f}" for x in (exact, *found))]
