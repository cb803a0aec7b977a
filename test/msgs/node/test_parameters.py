"""Parameters as rclpy takes them."""

from math import inf

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

import rclpy
from rcl_interfaces.msg import SetParametersResult
from rclpy.exceptions import InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter
from ros_peer import DOMAIN_ID

from hrp_msgs.node.parameters import DerivedParams, Param, declare, usage
from hrp_msgs.node.start import WrongUseError

PARAMS = (
    Param("factor", 1.0, "Simulated per real second.", 0.5, 10.0),
    Param("period", 0.5, "Time between messages [s].", 0.0),
    Param("world", "", "World file."),
    Param("seed", -1, "Of the random order.", read_only=False),
    Param("strict", False, "Whether warnings count as errors."),
)


@pytest.fixture
def node(monkeypatch):
    """Make a node that was started with these parameters, alone in a context of its own."""
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=DOMAIN_ID)
    nodes = []

    def make(**parameters):
        overrides = [Parameter(name, value=value) for name, value in parameters.items()]
        nodes.append(
            Node("params", context=context, parameter_overrides=overrides, enable_rosout=False)
        )
        return nodes[-1]

    yield make
    for made in nodes:
        made.destroy_node()
    rclpy.shutdown(context=context)


def test_parameters_have_the_defaults_and_types_of_the_table(node):
    values = declare(node(), PARAMS)
    assert values == {p.name: p.default for p in PARAMS}
    assert [type(values[p.name]) for p in PARAMS] == [type(p.default) for p in PARAMS]


def test_what_the_node_was_started_with_wins(node):
    values = declare(node(world="room.yaml", factor=2.0, strict=True), PARAMS)
    assert (values["world"], values["factor"], values["strict"]) == ("room.yaml", 2.0, True)


def test_a_choice_that_ros_reads_as_a_number_is_that_choice(node):
    started = node(no_return=inf)
    choices = (Param("no_return", "max", "Reading without a return.", choices=("inf", "max")),)
    assert declare(started, choices) == {"no_return": "inf"}
    assert started.get_parameter("no_return").value == "inf"
    with pytest.raises(WrongUseError, match="no_return must be a string, not 5"):
        declare(node(no_return=5), choices)


@pytest.mark.parametrize("wrong", [{"factor": 0.1}, {"factor": 11.0}, {"period": -0.1}])
def test_limits_are_enforced_on_either_side(node, wrong):
    [(name, value)] = wrong.items()
    with pytest.raises(WrongUseError, match=f"^{name} must be in the range .*, not {value:g}$"):
        declare(node(**wrong), PARAMS)


def test_a_side_without_a_limit_is_open(node):
    assert declare(node(period=1e12), PARAMS)["period"] == 1e12


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"factor": 2}, "factor must be a number with a decimal point, not 2: write 2.0"),
        ({"factor": True}, "factor must be a number with a decimal point, not True"),
        ({"world": 5}, 'world must be a string, not 5: write "5" with quotes'),
        ({"seed": 1.5}, "seed must be an integer, not 1.5"),
        ({"strict": "maybe"}, "strict must be true or false, not 'maybe'"),
    ],
)
def test_another_type_is_refused_with_words(node, wrong, words):
    with pytest.raises(WrongUseError) as refused:
        declare(node(**wrong), PARAMS)
    assert str(refused.value) == words


def test_usage_tells_all_there_is():
    text = usage("program", [*PARAMS, CHOICE])
    assert text.startswith("usage: program ")
    assert '  world (default "")\n      World file.\n' in text
    assert "  seed (default -1, can be set at any time)\n" in text
    assert "  strict (default false)\n" in text
    assert text.endswith("Of doing it. One of 'fast', 'well' or 'not at all'.")


def test_only_what_is_not_read_only_can_be_set_later(node):
    made = node()
    declare(made, PARAMS)
    refused, taken = made.set_parameters(
        [Parameter("world", value="x"), Parameter("seed", value=3)]
    )
    assert (refused.successful, taken.successful) == (False, True)
    assert made.get_parameter("seed").value == 3
    assert made.get_parameter("world").value == ""


def test_a_parameter_tells_its_meaning(node):
    made = node()
    declare(made, PARAMS)
    descriptor = made.describe_parameter("factor")
    assert descriptor.description == "Simulated per real second."
    (limits,) = descriptor.floating_point_range
    assert (limits.from_value, limits.to_value) == (0.5, 10.0)
    assert list(made.describe_parameter("world").floating_point_range) == []


@pytest.mark.parametrize("default", ["one", True])
def test_limits_of_anything_but_a_number_are_a_mistake(default):
    with pytest.raises(ValueError, match="'seed' has limits but is not a number"):
        Param("seed", default, "Of the random order.", 0.0, 9.0)


def test_a_whole_number_may_have_limits(node):
    seed = Param("seed", 5, "Of the random order.", -1, 2**32 - 1)
    made = node(seed=2**32 - 1)
    assert declare(made, [seed])["seed"] == 2**32 - 1
    (limits,) = made.describe_parameter("seed").integer_range
    assert (limits.from_value, limits.to_value) == (-1, 2**32 - 1)
    for wrong in (-2, 2**32):
        words = f"^seed must be in the range -1 .. 4294967295, not {wrong}$"
        with pytest.raises(WrongUseError, match=words):
            declare(node(seed=wrong), [seed])


CHOICE = Param("how", "fast", "Of doing it.", choices=("fast", "well", "not at all"))


def test_a_word_that_is_no_choice_is_refused_and_all_are_told(node):
    assert declare(node(how="well"), [CHOICE])["how"] == "well"
    with pytest.raises(WrongUseError, match="'fast', 'well' or 'not at all', not 'cheap'"):
        declare(node(how="cheap"), [CHOICE])
    assert CHOICE.objection("well") == ""
    assert "'cheap'" in CHOICE.objection("cheap")


def test_choices_are_told_to_whoever_asks(node):
    made = node()
    declare(made, [CHOICE])
    constraints = made.describe_parameter("how").additional_constraints
    assert constraints == "'fast', 'well' or 'not at all'"


def test_a_default_that_is_no_choice_is_a_mistake():
    with pytest.raises(ValueError, match="the default of parameter 'how' is not among its choices"):
        Param("how", "", "Of doing it.", choices=("fast",))


def values_of(node, *names):
    return [node.get_parameter(name).value for name in names]


def told(**values):
    """Return parameters of these names and values."""
    return [Param(k.replace("__", "."), v, f"The {k} [m].") for k, v in values.items()]


@pytest.fixture
def derived(node):
    """Return a node, and parameters on it that nobody else may set."""
    made = node()
    derived = DerivedParams(made, "model", told(text="", a__limit=1.0))

    def on_set(parameters):
        reason = next(filter(None, (derived.objection(p.name) for p in parameters)), "")
        return SetParametersResult(successful=not reason, reason=reason)

    made.add_on_set_parameters_callback(on_set)
    return made, derived


def test_derived_parameters_can_be_renewed_as_often_as_needed(derived):
    made, params = derived
    for text, limit in (("one", 2.0), ("two", 3.0)):
        params.renew(told(text=text, a__limit=limit, b__has=True))
        assert values_of(made, "text", "a.limit", "b.has") == [text, limit, True]
    params.renew(told(text="three", c__limit=4.0))
    assert values_of(made, "text", "c.limit") == ["three", 4.0]
    assert not made.has_parameter("a.limit")
    assert not made.has_parameter("b.has")


def test_nobody_else_sets_a_derived_parameter(derived):
    made, params = derived
    params.renew(told(text="one"))
    [result] = made.set_parameters([Parameter("text", value="other")])
    assert not result.successful
    assert result.reason == "text is derived from the parameter 'model' and cannot be set"
    assert made.get_parameter("text").value == "one"


def test_a_node_is_not_started_with_a_derived_parameter(node):
    with pytest.raises(InvalidParameterValueException, match="derived from the parameter 'model'"):
        DerivedParams(node(text="<robot/>"), "model", told(text=""))


def test_a_derived_parameter_tells_what_it_means_now(derived):
    made, params = derived
    for doc, least in (("Length [m].", 0.0), ("Angle [rad].", -4.0), ("Angle [rad].", -4.0)):
        params.renew([Param("a.limit", least, doc, least)])
        descriptor = made.describe_parameter("a.limit")
        assert descriptor.description == f"{doc} Derived from the parameter 'model'."
        [limits] = descriptor.floating_point_range
        assert (limits.from_value, limits.to_value) == (least, inf)
        assert values_of(made, "a.limit") == [least]
    params.renew([Param("a.limit", True, "Whether there is one.")])
    assert values_of(made, "a.limit") == [True]


def test_a_number_without_limits_says_that_it_may_be_any(node):
    made = node()
    declare(made, [Param("x", -inf, "Somewhere [m].", read_only=False)])
    (limits,) = made.describe_parameter("x").floating_point_range
    assert (limits.from_value, limits.to_value) == (-inf, inf)
    for value in (-1e300, 0.0, inf):
        [result] = made.set_parameters([Parameter("x", value=value)])
        assert result.successful, value
