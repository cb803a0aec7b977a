"""Words from outside are told as far as people can read them."""

from hrp_msgs.sanitize import one_line, shortened


def test_a_short_text_is_told_as_it_is():
    assert shortened("there is no link 'x'", 20) == "there is no link 'x'"


def test_of_a_long_text_the_beginning_and_the_end_are_told():
    told = shortened(f"no joint '{'x' * 1_000_000}'; there is arm", 100)
    assert told.startswith("no joint 'xxx")
    assert told.endswith("xxx'; there is arm")
    assert len(told) == 100 + len(" ... ")


def test_a_line_of_a_log_cannot_be_broken_or_coloured():
    assert one_line("a\nb\x1b[31m\u202ec \u00e4") == "a\\nb\\x1b[31m\\u202ec \u00e4"
