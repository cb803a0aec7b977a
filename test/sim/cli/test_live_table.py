"""The live table, drawn at chosen moments of a run."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from hrp_sim.cli.run_table import MAX_ROWS, LiveTable, Row
from hrp_sim.engine.schedule import NS_PER_S


class Run:
    """Stands in for a Run, with topics that a test counts up."""

    def __init__(self, began=0.0):
        state = SimpleNamespace(time_ns=round(began * NS_PER_S))
        self.simulation = SimpleNamespace(state=state)
        self.measured_factor = 1.25
        self.lines = []
        self.board = LiveTable("world.yaml", self, lambda: self.lines)

    def listen(self):
        self.board = LiveTable("world.yaml", self, lambda: self.lines, listening=True)

    def drawn(self, seconds, *lines, width=120):
        """Return the words of each row at this simulated time."""
        self.simulation.state.time_ns = round(seconds * NS_PER_S)
        self.lines = list(lines)
        page = io.StringIO()
        Console(file=page, width=width).print(self.board)
        self.page = page.getvalue()
        rows = self.page.splitlines()
        cells = [[c.strip() for c in row.strip("│").split("│")] for row in rows if row[:1] == "│"]
        return {name: others for name, *others in cells}, rows[-1]


@pytest.fixture
def run():
    return Run()


def test_rates_are_counted_in_simulated_time(run):
    run.drawn(0.0, Row("imu", "Imu", 0))
    rows, clock = run.drawn(2.0, Row("imu", "Imu", 1000))
    assert rows == {"imu": ["Imu", "500.0"]}
    assert clock.split() == ["time", "2.000", "s", "real-time", "factor", "1.25"]


def test_a_rate_is_that_of_the_last_window_not_of_the_whole_run(run):
    run.drawn(1.0, Row("scan", "LaserScan", 40))
    assert run.drawn(2.0, Row("scan", "LaserScan", 50))[0] == {"scan": ["LaserScan", "10.0"]}


def test_a_run_that_begins_later_shows_its_own_rate():
    run = Run(began=3.0)
    assert run.drawn(3.5, Row("imu", "Imu", 250))[0] == {"imu": ["Imu", "500.0"]}


def test_rates_go_on_after_a_reset(run):
    run.drawn(9.0, Row("scan", "LaserScan", 90))
    run.drawn(0.5, Row("scan", "LaserScan", 95))
    assert run.drawn(1.5, Row("scan", "LaserScan", 115))[0] == {"scan": ["LaserScan", "20.0"]}


def test_between_windows_the_last_rate_stays(run):
    run.drawn(1.0, Row("scan", "LaserScan", 40))
    assert run.drawn(1.5, Row("scan", "LaserScan", 41))[0] == {"scan": ["LaserScan", "40.0"]}


def test_a_run_shorter_than_a_window_shows_the_rate_so_far(run):
    assert run.drawn(0.5, Row("imu", "Imu", 250))[0] == {"imu": ["Imu", "500.0"]}


def test_what_never_came_has_no_rate(run):
    assert run.drawn(2.0, Row("imu", "Imu", 0))[0] == {"imu": ["Imu", "-"]}


def test_what_a_listener_heard_has_a_column_of_its_own(run):
    run.listen()
    rows, _ = run.drawn(2.0, Row("imu", "Imu", 1000, 0.998), Row("scan", "LaserScan", 80))
    assert rows == {"imu": ["Imu", "500.0", "100%"], "scan": ["LaserScan", "40.0", "-"]}


def test_a_narrow_terminal_keeps_names_and_numbers(run):
    run.listen()
    name = "/head_camera/depth/image_rect_raw"
    line = Row(name, "diagnostic_msgs/DiagnosticArray", 1000, 1.0)
    assert run.drawn(2.0, line, width=80)[0] == {name: ["diagnostic_msgs…", "500.0", "100%"]}


def test_a_real_time_factor_is_shown_once_it_was_measured(run):
    run.measured_factor = 0.0
    assert run.drawn(0.25)[1].split() == ["time", "0.250", "s"]


def test_a_topic_that_nobody_listens_to_says_so_unless_it_is_published_nevertheless(run):
    rows, _ = run.drawn(
        2.0,
        Row("scan", "LaserScan", 0, missing="no subscriber"),
        Row("imu", "Imu", 0),
        Row("tf", "TFMessage", 40, missing="no subscriber"),
    )
    assert rows == {
        "scan": ["LaserScan", "no subscriber"],
        "imu": ["Imu", "-"],
        "tf": ["TFMessage", "20.0"],
    }
    rows, _ = run.drawn(4.0, Row("tf", "TFMessage", 40, missing="no subscriber"))
    assert rows == {"tf": ["TFMessage", "no subscriber"]}


def test_of_thousands_of_rows_the_first_are_drawn(run):
    rows, _ = run.drawn(1.0, *(Row(f"imu{i}", "Imu", 1) for i in range(MAX_ROWS + 700)))
    assert list(rows) == [f"imu{i}" for i in range(MAX_ROWS)]
    assert "and 700 more\n" in run.page


def test_a_pipe_has_the_same_rows_without_a_frame(run):
    run.listen()
    path = f"/worlds/{'with long names/' * 30}world.yaml"
    lines = [
        Row("imu", "Imu", 1000, 0.998),
        Row("\x1bscan", "LaserScan", 0, missing="switched off"),
    ]
    board = LiveTable(path, run, lambda: lines, listening=True)
    run.simulation.state.time_ns = 2 * NS_PER_S
    assert board.text().split("\n") == [
        path,
        "name   type         per sim. s  received",
        "imu    Imu               500.0      100%",
        "\ufffdscan  LaserScan  switched off         -",
        "time     2.000 s    real-time factor  1.25",
    ]
