"""What hrp-sim sensors tells of a world, and what --sensor changes in a run."""

import pytest
from paths import MODELS

from hrp_sim.cli.main import main

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
      - { type: RateGyroSensor, name: gyro-1, id: 0 }
      - { type: RateGyroSensor, name: %s, id: 1, on: false }
      - { type: SpotLight, name: lamp, id: 0 }
  - name: FOOT
    parent: BASE
    joint_type: revolute
    joint_id: 0
    joint_axis: Z
    mass: 1
    inertia: [1,0,0,0,1,0,0,0,1]
    elements:
      - { type: ForceSensor, name: foot, id: 0 }
"""


@pytest.fixture
def world(tmp_path):
    """Write a world of these robots; return its path."""

    def write(*bodies, gyro="spare"):
        (tmp_path / "robot.body").write_text(ROBOT % gyro)
        lines = "\n".join(f"- {{ model: robot.body, {body} }}" for body in bodies)
        path = tmp_path / "world.yaml"
        path.write_text(f"sensors: {{ force_stdev: 0.5 }}\nbodies:\n{lines}\n")
        return path

    return write


def run(capsys, *arguments):
    """Return the exit status and what went to standard output and standard error."""
    return (main([str(argument) for argument in arguments]), *capsys.readouterr())


def test_sensors_are_listed_with_rates_topics_and_options(capsys, world):
    status, out, err = run(capsys, "sensors", world("sensors: { foot: { rate: 200 } }"))
    assert (status, err) == (0, "")
    rows = [line.split() for line in out.partition("\n\n")[0].splitlines()[1:]]
    assert rows == [
        ["joint_states", "joints", "500", "Hz", "joint_states"],
        ["odometry", "odometry", "100", "Hz", "ground_truth/odom"],
        ["gyro-1", "imu", "500", "Hz", "imu/data_raw"],
        ["spare", "(off)", "imu", "500", "Hz", "spare/data_raw"],
        ["foot", "force", "200", "Hz", "foot/wrench", "rate=200"],
        ["lamp", "light", "devices/lamp/set_enabled"],
    ]
    assert (
        "force_stdev=0.5  (force)\n    White noise of the force, per axis [N]; negative = " in out
    )
    assert "One of model, link, parent." in out.replace("\n    ", " ")
    assert "headlight" not in out  # there is no camera


def test_sensors_of_several_robots_have_their_namespaces(capsys, world):
    status, out, _ = run(capsys, "sensors", world("name: one 1", "name: two"))
    assert status == 0
    rows = [line.split() for line in out.splitlines()]
    assert ["one", "1/foot", "force", "500", "Hz", "one_1/foot/wrench"] in rows
    assert ["two/foot", "force", "500", "Hz", "two/foot/wrench"] in rows


def test_a_world_without_sensors_says_so(capsys):
    assert run(capsys, "sensors", MODELS / "floor.body") == (0, "this world has no sensors\n", "")


def test_sensors_that_would_share_a_topic_are_an_error(capsys, world):
    status, _, err = run(capsys, "sensors", world("name: one", gyro="gyro_1"))
    assert status == 1
    assert "'gyro-1' and 'gyro_1' would both be topic 'gyro_1'" in err


def test_options_on_the_command_line_count(capsys, world):
    options = ("--sensor", "foot.rate=100", "--sensor", "gyro_1.rate=50", "--duration", "1")
    status, out, err = run(capsys, "run", world("name: one, fixed: true"), *options)
    assert (status, err) == (0, "")
    rates = {line.split()[0]: line.split()[-1] for line in out.splitlines() if "Sensor" in line}
    assert rates.pop("joint_states") == "500.0"
    assert rates == {"odometry": "100.0", "gyro-1": "50.0", "spare": "off", "foot": "100.0"}


@pytest.mark.parametrize(
    ("option", "status", "words"),
    [
        ("fot.rate=5", 1, "'fot.rate': there is no sensor 'fot'. Did you mean 'foot'?"),
        ("rate=5", 1, "'rate' can be set for single sensors only, not for all at once"),
        ("foot.rat=5", 2, "sensors have no option 'rat'. Did you mean 'rate'?"),
        ("foot.rate=-5", 2, "rate must be a number from 0 to 1e+06, not -5"),
        ("foot.rate", 2, "must be [SENSOR.]OPTION=VALUE, not 'foot.rate'"),
    ],
)
def test_an_option_that_cannot_be_is_refused(capsys, world, option, status, words):
    ended, _, err = run(capsys, "run", world("name: one"), "--sensor", option)
    assert ended == status
    assert words in err
