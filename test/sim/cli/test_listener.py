"""What a listener has heard of what was published."""

from hrp_sim.cli.run_table import missing_messages

FIRST = {"imu": (10, 12), "diagnostics": (1, 1)}


def test_what_lags_is_still_to_be_heard():
    last = {"imu": (60, 112), "diagnostics": (3, 3)}
    assert missing_messages(FIRST, last, {"imu": 112, "diagnostics": 3}) == {"imu": 50}


def test_what_was_lost_before_the_first_report_is_not_waited_for():
    last = {"imu": (110, 112), "diagnostics": (3, 3)}
    assert missing_messages(FIRST, last, {"imu": 112, "diagnostics": 3}) == {}


def test_what_goes_on_being_published_is_not_waited_for():
    last = {"imu": (110, 112), "diagnostics": (3, 4)}
    assert missing_messages(FIRST, last, {"imu": 112, "diagnostics": 3}) == {}


def test_of_a_topic_that_was_never_heard_nothing_is_known():
    assert missing_messages({}, {}, {"imu": 100}) == {}
