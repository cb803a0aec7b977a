"""Options of sensors in world files and as "SENSOR.OPTION", and every mistake with its place."""

import pytest
from paths import MODELS
from sim.sensors.handmade import arm_body

from hrp_model import Diagnostics, ModelError, devices
from hrp_sim.engine.engine import Placement
from hrp_sim.sensors import IDEAL, SensorSettings
from hrp_sim.simulation import Simulation
from hrp_sim.world.config import BodyEntry, WorldConfig
from hrp_sim.world.load import load_world
from hrp_sim.world.sensor_options import find_target, parse_option, with_options

ROBOT = """\
format: ChoreonoidBody
format_version: 2.0
name: Robot
links:
  - name: BASE
    joint_type: free
    mass: 1
    inertia: [1,0,0,0,1,0,0,0,1]
    elements:
      - { type: RateGyroSensor, name: gyro, id: 0 }
      - { type: AccelerationSensor, name: gsensor, id: 0 }
      - { type: ForceSensor, name: foot, id: 0 }
      - { type: SpotLight, name: lamp, id: 0 }
  - { name: ARM, parent: BASE, joint_type: revolute, joint_id: 0, joint_axis: Z, mass: 1,
      inertia: [1,0,0,0,1,0,0,0,1] }
"""


@pytest.fixture
def read(tmp_path):
    """Read a world; return it and its problems as "line:column: code: message"."""
    (tmp_path / "robot.body").write_text(ROBOT)
    path = tmp_path / "world.yaml"

    def read(text):
        path.write_text(text)
        quiet = Diagnostics.silent()
        try:
            config = load_world(path, quiet)
        except ModelError:
            config = None
        found = [d for d in quiet.found if str(d.at).startswith(f"{path}:")]
        return config, [
            f"{str(d.at).removeprefix(f'{path}:')}: {d.code}: {d.message}" for d in found
        ]

    return read


def test_options_of_all_sensors_and_of_single_ones(read):
    config, problems = read("""\
sensors: { angular_velocity_stdev: 0.01, orientation: on, no_return: max, background: '#0A0b0c' }
bodies:
  - model: robot.body
    sensors:
      gyro: { rate: 200, angular_velocity_stdev: 0 }
      joint_states: { rate: 50, encoders: true }
      odometry: { rate: 10 }
""")
    assert problems == []
    assert config.sensors == SensorSettings(
        angular_velocity_stdev=0.01, orientation=True, no_return="max", background="#0A0b0c"
    )
    assert config.bodies[0].sensors == {
        "gyro": {"rate": 200.0, "angular_velocity_stdev": 0.0},
        "joint_states": {"rate": 50.0, "encoders": True},
        "odometry": {"rate": 10.0},
    }


def test_a_world_that_says_nothing_has_ideal_sensors(read):
    config, problems = read("sensors:\nbodies:\n- { model: robot.body, sensors: { gyro: } }")
    assert (config.sensors, config.bodies[0].sensors, problems) == (IDEAL, {}, [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "force_stddev: 1",
            "1:12: unknown-option: sensors have no option 'force_stddev'. Did you ",
        ),
        (
            "rate: 5",
            "1:12: unknown-option: 'rate' can be set for single sensors only, not for all at once",
        ),
        ("force_stdev: -2", "1:25: out-of-range: force_stdev must be a number from -1 to 1e+12"),
        ("force_stdev: much", "1:25: wrong-type: expected a number, found 'much'"),
        ("encoders: 5", "1:22: wrong-type: expected true or false, found '5'"),
        (
            "wrench_on: floor",
            "1:23: out-of-range: wrench_on must be 'model' or 'link' or 'parent', not 'floor'",
        ),
        ("background: red", "1:24: out-of-range: background must be a colour '#rrggbb', not 'red'"),
        ("background: [1]", "1:24: wrong-type: expected text, found a list"),
    ],
)
def test_a_wrong_option_of_all_sensors_is_told_with_its_place(read, text, problem):
    config, problems = read(f"sensors: {{ {text} }}\nbodies: []")
    assert config is None
    assert [p[: len(problem)] for p in problems] == [problem]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("gyroo: {rate: 1}", "unknown-sensor: there is no sensor 'gyroo'. Did you mean 'gyro'?"),
        (
            "nose: {rate: 1}",
            "unknown-sensor: there is no sensor 'nose'. It is one of joint_states, odometry, ",
        ),
        ("gsensor: {rate: 1}", "unknown-sensor: 'gsensor' is merged with 'gyro'; set the "),
        ("lamp: {rate: 1}", "unknown-sensor: 'lamp' is a light, which has no options"),
        ("gyro: 5", "wrong-type: expected a mapping"),
        ("gyro: {rat: 5}", "unknown-option: sensors have no option 'rat'. Did you mean 'rate'?"),
        ("gyro: {rate: 2e6}", "out-of-range: rate must be a number from 0 to 1e+06"),
    ],
)
def test_a_wrong_option_of_one_sensor_is_told_with_its_place(read, text, problem):
    config, problems = read(f"bodies:\n- model: robot.body\n  sensors:\n    {text}\n")
    assert config is None
    [found] = problems
    line, _, said = found.partition(":")
    assert line == "4"
    assert said.partition(": ")[2].startswith(problem)


def test_an_option_of_another_kind_of_sensor_is_a_warning(read):
    config, [problem] = read("bodies:\n- model: robot.body\n  sensors: {foot: {orientation: on}}")
    assert config is not None
    assert problem == (
        "3:20: idle-option: 'orientation' has no effect on 'foot' of kind 'force'; it is for imu"
    )


def worlds():
    gyro = devices.RateGyroSensor(name="gy-ro", link="ARM")
    bodies = (arm_body(gyro), arm_body(gyro, devices.ForceSensor(name="wrist", link="ARM")))
    return WorldConfig(
        bodies=tuple(
            BodyEntry(placement=Placement(name=name, body=body))
            for name, body in zip(("left 1", "right"), bodies, strict=True)
        )
    )


def changed(key, value, diagnostics):
    """Return what the sensors have after an option of some was set."""
    config = find_target(worlds(), key, diagnostics).with_value(worlds(), value)
    return config.sensors, [dict(entry.sensors) for entry in config.bodies]


def test_a_key_means_all_sensors_those_of_a_name_or_one(diagnostics):
    assert changed("force_stdev", 2.0, diagnostics) == (SensorSettings(force_stdev=2.0), [{}, {}])
    own = {"gy-ro": {"rate": 5.0}}
    for key in ("gy-ro.rate", "gy_ro.rate"):
        assert changed(key, 5.0, diagnostics) == (IDEAL, [own, own])
    for key in ("left 1/gy-ro.rate", "left_1/gy_ro.rate"):
        assert changed(key, 5.0, diagnostics) == (IDEAL, [own, {}])
    assert changed("wrist.rate", 5.0, diagnostics) == (IDEAL, [{}, {"wrist": {"rate": 5.0}}])


def test_a_single_option_wins_over_that_of_all_whichever_comes_first(diagnostics):
    single, common = (
        find_target(worlds(), k, diagnostics) for k in ("wrist.force_stdev", "force_stdev")
    )
    one = common.with_value(single.with_value(worlds(), 1.0), 2.0)
    other = single.with_value(common.with_value(worlds(), 2.0), 1.0)
    for config in (one, other):
        assert (single.value(config), common.value(config)) == (1.0, 2.0)
    assert single.value(common.with_value(worlds(), 2.0)) == 2.0


def test_a_key_that_nobody_knows_is_told(diagnostics):
    for key, code, words in (
        ("rate", "unknown-option", "'rate' can be set for single sensors only"),
        ("wrist.rat", "unknown-option", "'wrist.rat': sensors have no option 'rat'. Did you mean"),
        ("fist.rate", "unknown-sensor", "'fist.rate': there is no sensor 'fist'. Did you mean 'wr"),
        ("left 1/wrist.rate", "unknown-sensor", "there is no sensor 'left 1/wrist'"),
        ("rigth/wrist.rate", "unknown-sensor", "Did you mean 'right/wrist'?"),
    ):
        assert find_target(worlds(), key, diagnostics) is None
        assert words in diagnostics.take(code).message
    assert find_target(worlds(), "wrist.headlight", diagnostics) is not None
    assert "it is for camera" in diagnostics.take("idle-option").message


def test_a_value_that_makes_no_sense_is_refused_for_one_as_for_all(diagnostics):
    for key in ("force_stdev", "wrist.force_stdev"):
        with pytest.raises(ValueError, match=r"from -1 to 1e\+12, not -2"):
            find_target(worlds(), key, diagnostics).with_value(worlds(), -2.0)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a/b.rate=5", ("a/b.rate", 5.0)),
        ("encoders=true", ("encoders", True)),
        ("wrist.wrench_on=link", ("wrist.wrench_on", "link")),
        ("background=#aabbcc", ("background", "#aabbcc")),
    ],
)
def test_an_option_is_read_from_text(text, read):
    assert parse_option(text) == read


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("wrist.rate", r"must be \[SENSOR.\]OPTION=VALUE, not 'wrist.rate'"),
        ("wrist.rates=5", "Did you mean 'rate'"),
        ("wrist.rate=fast", "rate must be a number from 0 to 1e.06, not 'fast'"),
        ("wrist.rate=nan", "rate must be a number"),
        ("encoders=1", "encoders must be true or false, not '1'"),
        ("wrench_on=me", "'link' or 'parent'"),
    ],
)
def test_text_that_is_no_option_is_refused(text, words):
    with pytest.raises(ValueError, match=words):
        parse_option(text)


def test_a_rate_above_that_of_the_physics_is_a_warning(diagnostics):
    world = load_world(MODELS / "worlds" / "arm.yaml")
    for rate in (1000.0, 1001.0):
        config = with_options(world, {"wrist_force.rate": rate}, diagnostics)
        simulation = Simulation(config, diagnostics=diagnostics)
        simulation.wanted = lambda name: name == "wrist_force"
        assert sum(len(simulation.step()) for _ in range(20)) == 20
    told = diagnostics.take("too-fast").message
    assert (
        told
        == "'wrist_force' of body 'arm' cannot sample at 1001 Hz: it samples at every step, 1000 Hz"
    )
