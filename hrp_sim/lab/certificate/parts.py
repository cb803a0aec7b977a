"""The bodies that a certificate compares, which it makes of a model."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from hrp_model import Body, JointType, Link
from hrp_model.body import UNLIMITED, Joint
from hrp_model.diagnostics import listed
from hrp_model.kinematics.loops import mimic_joints
from hrp_model.verify import Row, without_shapes
from hrp_model.verify.motion import with_still_root
from hrp_model.verify.report import MODEL, not_applicable

from ...engine.articulation.mass_repair import MassRepair, mass_repairs
from ...engine.articulation.rigid_groups import rigid_groups
from ...engine.engine import PhysicsSettings, Placement


def parts(body: Body) -> list[Body]:
    """Return the parts that free joints below the root separate; each is a body of its own."""
    roots: dict[str, str] = {}
    for link in body.links:
        is_root = link.parent is None or link.joint.type is JointType.FREE
        roots[link.name] = link.name if is_root else roots[str(link.parent)]
    ordered = dict.fromkeys(roots.values())
    if len(ordered) == 1:
        return [body]
    return [_part(body, {name for name in roots if roots[name] == root}) for root in ordered]


def _part(body: Body, names: set[str]) -> Body:
    root, *others = (link for link in body.links if link.name in names)
    return Body(
        name=root.name,
        links=(replace(root, parent=None), *others),
        devices=tuple(device for device in body.devices if device.link in names),
        extra_joints=tuple(x for x in body.extra_joints if names.issuperset(x.links)),
    )


def engine_body(body: Body) -> Body:
    """Return a body as an engine moves it freely, of what a URDF states.

    Without contacts, loops, limits and springs, and with the whole weight of its links.
    """
    body = without_shapes(with_still_root(body))
    links = tuple(
        replace(link, joint=_free_joint(link.joint), weight_share=1.0) for link in body.links
    )
    return replace(body, links=links, devices=(), extra_joints=())


def _free_joint(joint: Joint) -> Joint:
    return replace(
        joint,
        position=UNLIMITED,
        velocity=UNLIMITED,
        effort=UNLIMITED,
        stiffness=0.0,
        mimic=None,
    )


def without_friction(body: Body) -> Body:
    """Return a body whose joints have no Coulomb friction."""
    links = (replace(link, joint=replace(link.joint, friction=0.0)) for link in body.links)
    return replace(body, links=tuple(links))


def without_damping(body: Body, names: Collection[str] | None = None) -> Body:
    """Return a body without the damping of its joints, or of those of some links."""

    def undamped(link: Link) -> Link:
        damping = 0.0 if names is None or link.name in names else link.joint.damping
        return replace(link, joint=replace(link.joint, damping=damping))

    return replace(body, links=tuple(map(undamped, body.links)))


def simulated_masses(body: Body) -> tuple[Body, list[str]]:
    """Return a body with the masses that the engine simulates, and the links that it repairs.

    Raises:
        PhysicsError: The engine cannot simulate the body.
    """
    placement = Placement(name=body.name, body=body, fixed=body.is_root_fixed)
    repairs = mass_repairs(placement, PhysicsSettings())
    if not repairs:
        return body, []
    _, members = rigid_groups(body, placement.fixed)
    links = list(body.links)
    for group in members:
        repair = repairs.get(links[group[0]].name)
        for i in group if repair else ():
            links[i] = _with_mass(links[i], repair if i == group[0] else None)
    return replace(body, links=tuple(links)), list(repairs)


def _with_mass(link: Link, repair: MassRepair | None) -> Link:
    """Return a link with the mass of its whole group, or without any."""
    if repair is None:
        return replace(link, mass=0.0, inertia=0.0 * link.inertia)
    after = repair.after
    return replace(
        link, mass=after.mass, center_of_mass=after.center_of_mass, inertia=after.inertia
    )


def notes(body: Body) -> Iterator[Row]:
    """Yield what a certificate leaves out of a model."""
    floating = [x.name for x in body.links[1:] if x.joint.type is JointType.FREE]
    tracks = [x.name for x in body.links if x.joint.type is JointType.TRACK]
    if floating:
        yield _note("floating links", f"{quoted(floating)}: compared as bodies of their own")
    if body.extra_joints:
        yield _note("closed loops", "left open, since a URDF cannot represent them")
    if followers := mimic_joints(body):
        yield _note("mimic joints", f"{quoted(list(followers))}: move freely, as their leaders")
    springs = [x.joint.name for x in body.links if x.joint.stiffness]
    lifted = [x.name for x in body.links if x.weight_share != 1.0]
    if springs:
        yield _note("springs of joints", f"{quoted(springs)}: left out")
    if lifted:
        yield _note("links without gravity", f"{quoted(lifted)}: with their whole weight")
    if tracks:
        yield _note("continuous tracks", f"{quoted(tracks)}: fixed without contacts")
    if body.root.joint.moves:
        yield _note("joint of the root", "without effect, since nothing is above it")


def _note(quantity: str, reason: str) -> Row:
    return not_applicable(MODEL, quantity, reason)


def quoted(names: Sequence[str], limit: int = 3) -> str:
    """Return the first few names in quotation marks, and the number of the others."""
    return listed([f"'{name}'" for name in names], limit)
