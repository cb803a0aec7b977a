"""Build a Body from a ``<model>``, and the bodies of a ``<world>``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from ...body import Body, Joint, JointType, Link, Mimic, link_pair
from ...devices import Device
from ...diagnostics import did_you_mean_or_all
from ...inertia import MassProperties
from ...late_dataclass import dataclass
from ...read_context import ReadContext, TooLargeError
from ...rigid import Pose
from ..joints import has_circle, intermediate_link, resolve_mimics
from ..sdf_sensors import read_sensor
from ..sdf_values import SdfReader, UnusedElements, never_colliding
from ..xml_tree import Element
from .joints import AXES, GEARBOX, MODEL, WORLD, Frames, GearReader, JointParts, JointReader
from .nesting import Nesting, model_pose, overridden, pose_element
from .shapes import ShapeReader

# Elements that are read, or that a robot does not need.
_KNOWN = {
    "model": (
        *("link", "joint", "static", "self_collide", "allow_auto_disable", "enable_wind"),
        *("pose", "frame"),
    ),
    "link": (
        *("pose", "inertial", "visual", "collision", "sensor", "gravity", "enable_wind"),
        *("self_collide", "kinematic", "must_be_base_link", "velocity_decay", "light"),
    ),
    "joint": (
        *("parent", "child", "pose", "axis", "axis2", "sensor", "physics", "thread_pitch"),
        *("screw_thread_pitch", "gearbox_ratio", "gearbox_reference_body"),
    ),
    "inertial": ("mass", "pose", "inertia", "density", "auto_inertia_params"),
    **dict.fromkeys(AXES, ("xyz", "limit", "dynamics", "mimic", "use_parent_model_frame")),
}
_MAX_MODELS = 1000  # a larger world cannot be stepped in reasonable time


class ModelReader:
    """Reads one model."""

    def __init__(self, model: Element, context: ReadContext) -> None:
        self._model = model
        self._context = context
        self._diagnostics = context.diagnostics
        self._frames = Frames(model, context.diagnostics)
        self._shapes = ShapeReader(self._frames, context)
        self._unused = UnusedElements(context.diagnostics)
        self._mimics: dict[str, Mimic] = {}  # by name of the joint

    def bodies(self, *, may_be_several: bool) -> list[Body]:
        """Return a body for each link without a parent; none after reporting errors."""
        self._report_parts()
        links = {x.attributes.get("name", ""): x for x in self._model.all("link")}
        for element in links.values():
            self._context.count("links", at=element.span)
        if not links:
            if not self._diagnostics.has_errors:  # of models that it includes
                message = "a robot needs at least one link"
                self._diagnostics.error("no-links", message, self._model.span)
            return []
        above = self._joints(links)
        if above is None or self._diagnostics.has_errors:
            return []
        orders = self._orders(links, above, may_be_several=may_be_several)
        if any(self._frames.pose(name) is None for name in links):
            return []
        return [self._body(order, links, above) for order in orders]

    def _body(
        self, order: list[str], links: dict[str, Element], above: dict[str, JointParts]
    ) -> Body:
        """Return a body of some links, parents first."""
        own = {name: links[name] for name in order}
        self._leave_out_mimics([above[name] for name in order if name in above])
        made = list(self._links(order, own, above))
        source = self._model.source
        name = self._model.attributes.get("name") or source.stem
        plugins = [x.attributes.get("filename", "") for x in self._model.all("plugin")]
        return Body(
            name=name if len(own) == len(links) else f"{name}::{order[0]}",
            links=tuple(made),
            devices=tuple(self._devices(own, {k: x for k, x in above.items() if k in own})),
            self_collision_disabled=frozenset(_connected(made, above)) | self._never_colliding(own),
            info={"plugin": plugins} if plugins else {},
            path=source.path,
        )

    def _never_colliding(self, links: dict[str, Element]) -> frozenset[frozenset[str]]:
        """Return the pairs of links that ``self_collide`` excludes."""
        of_model = SdfReader(self._model, self._diagnostics).choice("self_collide")
        choices = {
            name: SdfReader(x, self._diagnostics).choice("self_collide")
            for name, x in links.items()
        }
        return never_colliding(choices, of_model, self._context, self._model.span)

    def _leave_out_mimics(self, joints: list[JointParts]) -> None:
        """Leave out mimics of joints in one body whose leaders are in another."""
        inside = {link for parts in joints for link in parts.chain}
        for parts in joints:
            for joint in parts.chain.values():
                if joint.name in self._mimics and self._mimics[joint.name].link not in inside:
                    del self._mimics[joint.name]
                    message = (
                        f"joint '{joint.name}' follows no other: its leader is in another body"
                    )
                    self._diagnostics.warn("unknown-joint", message, parts.element.span)

    def _report_parts(self) -> None:
        """Report parts of the model that are not read."""
        pending = [self._model]
        for part in pending:  # grows
            whole = f"an {part.tag}" if part.tag[0] in "ai" else f"a {part.tag}"
            for child in part.children:
                if child.tag not in _KNOWN[part.tag]:
                    message = f"<{child.tag}> of {whole} is left out: it has no counterpart"
                    self._diagnostics.warn("no-counterpart", message, child.span)
                elif child.tag in _KNOWN:
                    pending.append(child)

    def _joints(self, links: dict[str, Element]) -> dict[str, JointParts] | None:
        """Return the joint above each link that has one; None after reporting errors."""
        reader = JointReader(self._model, self._frames, self._diagnostics)
        above: dict[str, JointParts] = {}
        gearboxes = []
        for element in self._model.all("joint"):
            if element.attributes.get("type") == GEARBOX:
                gearboxes.append(element)
                continue
            parts = reader.joint(element)
            if parts is None:
                if not self._diagnostics.has_errors:
                    message = "this joint needs a <child> that is a link"
                    self._diagnostics.error("unknown-link", message, element.span)
                return None
            for role, link in (("parent", parts.parent), ("child", parts.child)):
                if link not in links and (role, link) != ("parent", WORLD):
                    hint = did_you_mean_or_all(link, links)
                    message = f"the {role} '{link}' of joint '{parts.name}' is no link.{hint}"
                    self._diagnostics.error("unknown-link", message, element.span)
                    return None
            if parts.child in above:
                other = above[parts.child].name
                message = f"link '{parts.child}' is the child of two joints, '{other}' and "
                message += f"'{parts.name}'"
                self._diagnostics.error("second-parent", message, element.span)
                return None
            above[parts.child] = parts
        gears = GearReader(above, self._frames, reader, self._diagnostics)
        followers = gears.followers(gearboxes)
        moved = {
            joint.name: link
            for parts in above.values()
            for link, joint in parts.chain.items()
            if joint.moves
        }
        self._mimics = resolve_mimics(moved, followers, self._diagnostics)
        return above

    def _orders(
        self, links: dict[str, Element], above: dict[str, JointParts], *, may_be_several: bool
    ) -> list[list[str]]:
        """Return the links of each tree, parents first; none after reporting a circle or roots."""
        roots = [name for name in links if name not in above or above[name].parent == WORLD]
        if not roots or (len(roots) > 1 and not may_be_several):
            listed = ", ".join(f"'{name}'" for name in roots[:5]) or "none of the links"
            message = f"a robot must have exactly one link without a parent, not {listed}"
            self._diagnostics.error("second-root", message, self._model.span)
            return []
        children: dict[str, list[str]] = {}
        for name in links:
            if name in above:
                children.setdefault(above[name].parent, []).append(name)
        orders = [[root] for root in roots]
        for order in orders:
            for name in order:  # grows
                order += children.get(name, [])
        found = {name for order in orders for name in order}
        is_lost = has_circle(links, found, lambda name: links[name].span, self._diagnostics)
        return [] if is_lost else orders

    def _links(
        self, order: list[str], links: dict[str, Element], above: dict[str, JointParts]
    ) -> Iterator[Link]:
        """Yield the links; the frame of each is at its joint, in the axes of the <link>."""
        reader = SdfReader(self._model, self._diagnostics)
        X_WF, frame = reader.framed_pose("pose")
        if frame not in ("", WORLD):
            message = f"the pose of a model is in the world, not relative to '{frame}'"
            self._diagnostics.warn("not-used", message, self._model.span)
        placed = self._model.attributes.get("placement_frame", "") or MODEL
        X_WM = X_WF @ self._frames.in_frame(Pose(), placed, MODEL, self._model).inverse()
        root = order[0]
        joint = above.get(root)
        is_fixed = self._is_static(above) or joint is not None
        kind = JointType.FIXED if is_fixed else JointType.FREE
        if joint is not None and joint.moves:  # by a joint in the world
            at = joint.element.at("name")
            yield Link(
                name=WORLD, parent=None, joint=Joint(type=kind, name=WORLD), X_PL=X_WM, at=at
            )
        else:
            name = root if joint is None else joint.name
            top = Joint(type=kind, name=name)
            yield self._link(links[root], None, top, X_WM @ self._placed(root, above), Pose())
            order = order[1:]
        driven = [
            made.name
            for parts in map(above.__getitem__, order)
            for made in parts.chain.values()
            if made.moves and not made.is_passive and made.name not in self._mimics
        ]
        numbers = {name: i for i, name in enumerate(driven)}
        for name in order:
            parts = above[name]
            X_ML = self._placed(name, above)
            X_PL = X_ML
            if parts.parent != WORLD:
                X_PL = self._placed(parts.parent, above).inverse() @ X_ML
            X_LS = X_ML.inverse() @ self._pose(name)
            parent, at = parts.parent, parts.element.at("name")
            for link, chained in parts.chain.items():
                made = self._coupled(replace(chained, id=numbers.get(chained.name)))
                if link == name:
                    yield self._link(links[name], parent, made, X_PL, X_LS)
                else:
                    yield intermediate_link(link, parent, made, X_PL, at)
                    parent, X_PL = link, Pose()

    def _coupled(self, joint: Joint) -> Joint:
        """Return a joint with its mimic, if it follows another."""
        mimic = self._mimics.get(joint.name)
        return joint if mimic is None else replace(joint, mimic=mimic, initial=mimic.position(0.0))

    def _is_static(self, above: dict[str, JointParts]) -> bool:
        reader = SdfReader(self._model, self._diagnostics)
        static = reader.inside("static")
        if static is None or not reader.flag("static"):
            return False
        if any(parts.moves for parts in above.values()):
            message = "the joints of a static model do not move in Gazebo; here they move"
            static.warn("no-counterpart", message)
        return True

    def _pose(self, name: str) -> Pose:
        pose = self._frames.pose(name)
        assert pose is not None  # checked before
        return pose

    def _placed(self, name: str, above: dict[str, JointParts]) -> Pose:
        """Return the pose in the model of a link's frame: at its joint."""
        X_MS = self._pose(name)
        parts = above.get(name)
        if parts is None or not parts.moves:
            return X_MS
        return Pose(X_MS.R, parts.X_MJ.p)

    def _link(
        self, element: Element, parent: str | None, joint: Joint, X_PL: Pose, X_LS: Pose
    ) -> Link:
        mass = self._mass(element, X_LS)
        lost = self._context.lost_shapes
        visual = self._shapes.shapes(element, "visual", X_LS)
        collision = self._shapes.shapes(element, "collision", X_LS)
        reader = SdfReader(element, self._diagnostics)
        switched_on = (tag for tag in ("kinematic", "enable_wind") if reader.flag(tag))
        self._unused.add_all(element, "velocity_decay", *switched_on)
        return Link(
            name=element.attributes.get("name", ""),
            parent=parent,
            joint=joint,
            X_PL=X_PL,
            mass=mass.mass,
            center_of_mass=mass.center_of_mass,
            inertia=mass.inertia,
            visual=visual,
            collision=collision,
            weight_share=0.0 if reader.choice("gravity") is False else 1.0,
            lacks_shapes=self._context.lost_shapes > lost,
            at=element.at("name"),
        )

    def _mass(self, link: Element, X_LS: Pose) -> MassProperties:
        """Return the mass properties of a link; without any 1 kg and 1 kg m^2, as in SDF."""
        reader = SdfReader(link, self._diagnostics)
        inertial = link.first("inertial")
        if inertial is not None and inertial.attributes.get("auto", "").lower() in ("true", "1"):
            message = "masses derived from shapes are not read: write mass and inertia"
            self._diagnostics.error("unstated-mass", message, inertial.at("auto"))
        pose, frame = reader.framed_pose("inertial", "pose")
        X_SC = self._frames.in_frame(pose, frame, link.attributes.get("name", ""), link)
        values = {
            name: reader.number("inertial", "inertia", name, default=float(name[1] == name[2]))
            for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        }
        xx, xy, xz, yy, yz, zz = values.values()
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        mass = reader.number("inertial", "mass", default=1.0)
        return MassProperties(mass, np.zeros(3), inertia).expressed_in(X_LS @ X_SC)

    def _devices(self, links: dict[str, Element], above: dict[str, JointParts]) -> Iterator[Device]:
        """Yield the sensors of links and joints."""
        carriers = [(x, name) for name, x in links.items()]
        carriers += [(parts.element, name) for name, parts in above.items()]
        for element, link in carriers:
            for sensor in element.all("sensor"):
                kind = sensor.attributes.get("type", "sensor")
                name = sensor.attributes.get("name") or f"{link}_{kind}"
                reader = SdfReader(sensor, self._diagnostics)
                carrier = element.attributes.get("name", "")
                pose, frame = reader.framed_pose("pose")
                X_FS = self._frames.in_frame(pose, frame, carrier, sensor)
                X_ML = self._placed(link, above)
                X_LS = X_ML.inverse() @ self._pose(carrier) @ X_FS
                yield read_sensor(reader, name, link, X_LS)


def _connected(links: Iterable[Link], above: Mapping[str, JointParts]) -> Iterator[frozenset[str]]:
    """Yield the pairs of links that a joint connects, with the links between them."""
    for link in links:
        if link.parent:
            yield link_pair(link.name, link.parent)
        if link.name in above and len(above[link.name].chain) > 1:
            yield link_pair(link.name, above[link.name].parent)


@dataclass(frozen=True, eq=False)
class _Model:
    """A model of the world.

    Attributes:
        at: Its name and place in the file.
        X_FM: Pose of its frame in frame F.
        frame: Name of F; "" for the world.
        is_static: Whether it does not move.
        bodies: Its bodies when its frame is that of the world.
    """

    at: Element
    X_FM: Pose
    frame: str
    is_static: bool
    bodies: list[Body]


class WorldReader:
    """Reads the models of a world.

    Args:
        world: The ``<world>``, or an ``<sdf>`` with models.
        context: Receives problems.
    """

    def __init__(self, world: Element, context: ReadContext) -> None:
        self._world = world
        self._context = context
        self._nesting = Nesting(context)
        # By included model, and what else its inclusion states.
        self._read: dict[tuple[int, str | None, int], list[Body]] = {}

    def bodies(self) -> Iterator[tuple[Body, Body]]:
        """Yield each body in the world, and the same body at the origin.

        Models that are included several times are read once. Links of a model that no joint
        connects are bodies of their own.
        """
        models = list(self._models())
        frames = self._frames(models)
        for model in models:
            X_WM = model.X_FM
            if model.frame:
                X_WM = frames.in_frame(X_WM, model.frame, MODEL, model.at)
            name = model.at.attributes.get("name", "")
            for body in model.bodies:
                fixed = body.with_fixed_root() if model.is_static else body
                root = replace(fixed.root, X_PL=X_WM @ body.root.X_PL)
                _, scope, part = body.name.partition("::")
                named = f"{name or body.name}{scope}{part}"
                yield replace(body, name=named, links=(root, *body.links[1:])), body

    def _models(self) -> Iterator[_Model]:
        for number, element in enumerate(self._world.all("model", "include")):
            if number == _MAX_MODELS:
                message = f"the world has more than {_MAX_MODELS} models"
                raise TooLargeError(message, element.span)
            if element.tag == "model":
                model = self._nesting.merged(element)
                yield self._model(model, self._bodies(model))
            else:
                yield from self._included(element)

    def _included(self, include: Element) -> Iterator[_Model]:
        """Yield an included model; a light has no body."""
        other = self._nesting.included_body(include)
        if other is not None:
            model, body = other
            yield self._model(model, [body])
            return
        base = self._nesting.file(include)
        if base is None or base.tag == "light":
            return
        if base.tag != "model":
            message = f"<{base.tag}> is left out: it has no counterpart"
            self._context.diagnostics.warn("no-counterpart", message, include.span)
            return
        model = overridden(base, include)
        static = include.first("static")
        plugins = sum(1 for _ in include.all("plugin"))
        key = id(base), None if static is None else static.text, plugins
        if key not in self._read:
            self._read[key] = self._bodies(model)
        yield self._model(model, self._read[key])

    def _model(self, model: Element, bodies: list[Body]) -> _Model:
        X_FM, frame = model_pose(model, self._context)
        is_static = SdfReader(model, self._context.diagnostics).flag("static")
        attributes = {"name": model.attributes.get("name", "")}
        at = Element("model", attributes, model.source, model.start)
        return _Model(at, X_FM, "" if frame == WORLD else frame, is_static, bodies)

    def _bodies(self, model: Element) -> list[Body]:
        """Return the bodies of a model at the origin."""
        attributes = {k: x for k, x in model.attributes.items() if k != "placement_frame"}
        parts = [x for x in model.children if x.tag != "pose"]
        placed = replace(model, attributes=attributes, children=parts)
        return ModelReader(placed, self._context).bodies(may_be_several=True)

    def _frames(self, models: list[_Model]) -> Frames:
        """Return the frames of the world and of its models, as those of one model."""
        children = list(self._world.all("frame"))
        names = {frame.attributes.get("name") for frame in children} | {""}
        for model in models:
            at = model.at
            name = at.attributes["name"]
            if name not in names:  # of equal ones the first counts
                names.add(name)
                pose = pose_element(model.X_FM, model.frame or MODEL, at)
                children.append(Element("frame", {"name": name}, at.source, at.start, [pose]))
        whole = Element("model", {}, self._world.source, self._world.start, children)
        return Frames(whole, self._context.diagnostics)
