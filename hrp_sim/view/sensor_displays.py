"""What the sensors of a run read: in the scene, with a switch for each in the panel."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import field
from math import ceil, inf, pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from hrp_model import Pose
from hrp_model.frames import X_S_OPTICAL, X_S_SCAN
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array
from hrp_model.view.browser import part
from hrp_model.view.html import padded
from hrp_model.view.robot import Scale, label_text, scene_name
from hrp_model.view.sensor_views import (
    ACCELERATION_COLOR,
    FORCE_COLOR,
    FRUSTUM_LENGTH,
    MAX_POINTS,
    TORQUE_COLOR,
    ArrowsView,
    Lens,
    PictureView,
    PointsView,
    depth_picture,
)
from hrp_model.view.viewer import Viewer

from ..engine.state import LinkPoses
from ..render import NO_PARTS, Parts
from ..sensors import (
    CameraSensor,
    ForceSensor,
    ImageReading,
    ImuSensor,
    RangeSensor,
    RangeSensor3D,
    Reading,
    RenderRequest,
    Sensor,
)
from ..simulation import Simulation

if TYPE_CHECKING:
    from viser import GuiCheckboxHandle

IMAGE_PERIOD = 0.1  # [s] of wall time between two pictures of a camera
_MAX_CAPTURES = 8  # of one camera, that are being rendered
_PART = "sensors"
_CAMERAS_AT_FIRST = 2  # of which pictures are shown at first


@dataclass(frozen=True, slots=True)
class Sample:
    """A reading to draw.

    Attributes:
        reading: The reading, of the class that its sensor produces.
        sensor: Its sensor.
        poses: Poses of the links of its body when it was taken.
    """

    reading: Any
    sensor: _Mounted
    poses: LinkPoses

    def pose(self) -> Pose:
        """Return X_WS of the sensor frame when it was taken."""
        R_WL = self.poses.R[self.sensor.link]
        X_LS = self.sensor.X_LS
        return Pose(R_WL @ X_LS.R, self.poses.p[self.sensor.link] + R_WL @ X_LS.p)


Draw = Callable[[Sample], None]
Shown = ArrowsView | PictureView | PointsView
_Mounted = CameraSensor | ForceSensor | ImuSensor | RangeSensor | RangeSensor3D


@dataclass
class _Display:
    """The display of one sensor.

    Attributes:
        sensor: The sensor.
        views: What is drawn.
        draw: Draws a sample.
        period: Minimum wall time between two samples, in [s].
        parts: Of an image that are needed.
        switch: In the panel.
        points: Switch of a cloud of the points that a camera sees; None for other sensors.
        due: Wall time of the next sample, in [s].
        captures: Poses of the links of a camera's body by the times of its images that are being
            rendered, in [ns]; the stepping thread adds, the render thread removes them.
    """

    sensor: _Mounted
    views: list[Shown]
    draw: Draw
    period: float = 0.0
    parts: Parts = NO_PARTS
    switch: GuiCheckboxHandle | None = None
    points: GuiCheckboxHandle | None = None
    due: float = -inf
    captures: dict[int, LinkPoses] = field(default_factory=dict)

    @property
    def is_on(self) -> bool:
        """Whether the sensor is to be shown."""
        return self.switch is None or self.switch.value

    @property
    def is_cloud(self) -> bool:
        """Whether it shows the points that a camera sees."""
        return self.points is not None and self.points.value

    def remove(self) -> None:
        """Remove it from the page."""
        for view in self.views:
            view.remove()
        for switch in (self.switch, self.points):
            if switch is not None:
                switch.remove()


class SensorDisplays:
    """The displays of all sensors that can be drawn, in the panel's present container.

    ``wants``, ``wanted_parts`` and ``take`` are called in the stepping thread, ``take_image`` in
    the render thread, the others in the viewer's thread. A sensor is wanted from ``request`` until
    its next reading.

    Args:
        viewer: The page.
        scale: Sizes of what is drawn.
    """

    def __init__(self, viewer: Viewer, scale: Scale) -> None:
        self._viewer, self._scale = viewer, scale
        self._frustum_length = min(FRUSTUM_LENGTH, 0.1 * scale.length)
        gui = viewer.server.gui
        gui.add_html(part(_PART))
        self._none = gui.add_html(padded("No sensor has readings to draw."), visible=False)
        self._folder = gui.add_folder(None)
        self._displays: Mapping[str, _Display] = {}  # replaced, never changed
        self._due: set[str] = set()
        self._samples: deque[tuple[_Display, Sample]] = deque()
        self._known: Mapping[str, Sensor] | None = None
        self._count = 0  # of displays made, for unique names in the scene

    def wants(self, sensor: str) -> bool:
        """Return whether a reading of a sensor is to be drawn."""
        return sensor in self._due

    def wanted_parts(self, camera: str) -> Parts:
        """Return the parts of an image that are to be drawn."""
        display = self._displays.get(camera) if camera in self._due else None
        return NO_PARTS if display is None else display.parts

    def take(self, simulation: Simulation, readings: Mapping[str, Reading]) -> None:
        """Keep the readings of a step that are to be drawn, with the poses of their bodies."""
        if self._due.isdisjoint(readings):
            return
        poses_of: dict[str, LinkPoses] = {}
        for name in self._due.intersection(readings):
            reading, display = readings[name], self._displays.get(name)
            if display is None or simulation.sensors.get(name) is not display.sensor:
                continue  # that of another world, which is shown from the next frame on
            sensor = display.sensor
            if isinstance(reading, RenderRequest):
                if len(display.captures) >= _MAX_CAPTURES:  # replaced before they were rendered
                    # The render thread may take it, or all of them, at the same time.
                    display.captures.pop(min(display.captures, default=0), None)
                display.captures[reading.time_ns] = reading.poses[sensor.body]
                continue
            if (poses := poses_of.get(sensor.body)) is None:
                poses = poses_of[sensor.body] = simulation.bodies[sensor.body].motion.poses()
            self._samples.append((display, Sample(reading, sensor, poses)))
            self._due.discard(name)

    def take_image(self, camera: str, image: ImageReading) -> None:
        """Keep an image that is to be drawn."""
        display = self._displays.get(camera)
        poses = None if display is None else display.captures.pop(image.time_ns, None)
        if display is not None and poses is not None and camera in self._due:
            self._samples.append((display, Sample(image, display.sensor, poses)))
            self._due.discard(camera)

    def request(self, now: float) -> None:
        """Request the next readings of the sensors that are shown.

        Args:
            now: Of the steady clock, in [s].
        """
        sees_pictures = self._viewer.pages.sees(_PART)
        for name, display in self._displays.items():
            is_seen = display.is_cloud or sees_pictures or display.parts == NO_PARTS
            if display.is_on and is_seen and now >= display.due:
                display.due = now + display.period
                self._due.add(name)

    def stop(self) -> None:
        """Request no readings any more."""
        self._due.clear()
        self._samples.clear()

    def follow(self, simulation: Simulation) -> None:
        """Show the sensors of a simulation, and no others."""
        if simulation.sensors is self._known:
            return
        self._known = simulation.sensors
        kept = {
            name: display
            for name, display in self._displays.items()
            if self._known.get(name) is display.sensor
        }
        for name, display in self._displays.items():
            if name not in kept:
                display.remove()
        displays = {}
        for name, sensor in self._known.items():
            display_or_none = kept.get(name) or self._made(name, sensor)
            if display_or_none is not None:
                displays[name] = display_or_none
        self._displays = displays
        self._none.visible = not displays
        self._folder.visible = bool(displays)

    def draw(self) -> None:
        """Draw the readings that have arrived."""
        newest: dict[int, tuple[_Display, Sample]] = {}
        while self._samples:
            display, sample = self._samples.popleft()
            newest[id(display)] = display, sample
        shown = self._displays.values()
        for display, sample in newest.values():
            if display.is_on and display in shown:
                display.draw(sample)

    def clear(self) -> None:
        """Hide all readings, as after a reset."""
        self._samples.clear()
        for display in self._displays.values():
            for view in display.views:
                view.hide()

    def _made(self, name: str, sensor: Sensor) -> _Display | None:
        with self._folder:
            display = self._of_sensor(name, sensor)
            if display is None:
                return None
            is_camera = isinstance(sensor, CameraSensor)
            cameras = sum(isinstance(d.sensor, CameraSensor) for d in self._displays.values())
            switch = self._viewer.server.gui.add_checkbox(
                label_text(name), not is_camera or cameras < _CAMERAS_AT_FIRST, order=self._count
            )

        def follow_switch() -> None:
            if not switch.value:
                for view in display.views:
                    view.hide()

        switch.on_update(lambda _: follow_switch())
        display.switch = switch
        return display

    def _of_sensor(self, name: str, sensor: Sensor) -> _Display | None:
        self._count += 1
        path = f"/sensors/{self._count}_{scene_name(name)}"
        if isinstance(sensor, RangeSensor | RangeSensor3D):
            points = PointsView(self._viewer, path, self._scale.point)
            return _Display(sensor, [points], lambda sample: _draw_scan(points, sample))
        if isinstance(sensor, ForceSensor):
            return self._of_force(path, sensor)
        if isinstance(sensor, ImuSensor):
            arrow = ArrowsView(self._viewer, path, ACCELERATION_COLOR, self._scale.width)
            scale = self._scale.per_acceleration
            return _Display(sensor, [arrow], lambda sample: _draw_imu(arrow, scale, sample))
        if isinstance(sensor, CameraSensor):
            return self._of_camera(name, path, sensor)
        return None

    def _of_force(self, path: str, sensor: ForceSensor) -> _Display:
        viewer, scale = self._viewer, self._scale
        force = ArrowsView(viewer, f"{path}/force", FORCE_COLOR, scale.width)
        torque = ArrowsView(viewer, f"{path}/torque", TORQUE_COLOR, scale.width)

        def draw(sample: Sample) -> None:
            reading, X_WS = sample.reading, sample.pose()
            _draw_vector(force, X_WS, reading.force * scale.per_force)
            _draw_vector(torque, X_WS, reading.torque * scale.per_torque)

        return _Display(sensor, [force, torque], draw)

    def _of_camera(self, name: str, path: str, sensor: CameraSensor) -> _Display:
        kind, lens = sensor.image_type, sensor.lens
        angle = 2.0 * np.arctan(lens.height / 2.0 / lens.intrinsics.fy)
        shown = Lens(min(float(angle), 0.9 * pi), lens.width / lens.height, self._frustum_length)
        has_color = kind.has_color or kind.has_mono
        views: list[Shown] = []
        color = depth = points = switch = None
        place = self._count + 0.3
        if has_color:
            color = PictureView(self._viewer, f"{path}/lens", name, shown, place)
            views.append(color)
        if kind.has_depth:
            label, own = f"{name} (depth)", None if has_color else shown
            depth = PictureView(self._viewer, f"{path}/depth", label, own, place + 0.3)
            points = PointsView(self._viewer, f"{path}/points", self._scale.point)
            views += [depth, points]
            switch = self._viewer.server.gui.add_checkbox(
                label_text(f"{name} points"), False, order=self._count + 0.1
            )

        def draw(sample: Sample) -> None:
            image: ImageReading = sample.reading
            X_WO = sample.pose() @ X_S_OPTICAL
            picture = image.color
            if picture is None and image.mono is not None:
                picture = np.repeat(image.mono[:, :, np.newaxis], 3, axis=2)
            if color is not None and picture is not None:
                color.move(X_WO)
                color.show(picture)
            if depth is not None and image.depth is not None:
                depth.move(X_WO)
                depth.show(depth_picture(image.depth))
            if points is None or switch is None or image.depth is None:
                return
            if not switch.value:
                points.hide()
            else:
                every = ceil(sqrt(image.depth.size / MAX_POINTS))
                at_O = image.points()[::every, ::every].reshape(-1, 3)
                points.show(at_O @ X_WO.R.T + X_WO.p, X_WO.p)

        parts = Parts(has_color, kind.has_depth)
        return _Display(sensor, views, draw, IMAGE_PERIOD, parts, points=switch)


def _draw_scan(view: PointsView, sample: Sample) -> None:
    X_WC = sample.pose() @ X_S_SCAN
    view.show(sample.reading.points.reshape(-1, 3) @ X_WC.R.T + X_WC.p, X_WC.p)


def _draw_imu(view: ArrowsView, scale: float, sample: Sample) -> None:
    if (acceleration := sample.reading.linear_acceleration) is not None:
        _draw_vector(view, sample.pose(), acceleration * scale)


def _draw_vector(view: ArrowsView, X_WS: Pose, vector_S: Array) -> None:
    view.show(X_WS.p[np.newaxis], (X_WS.R @ vector_S)[np.newaxis])
