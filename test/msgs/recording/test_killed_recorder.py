"""Of a recording whose process is killed, all but the last chunk is read."""

import random
import subprocess
import sys

import pytest
from paths import ROOT
from recording_tools import streamed

from hrp_msgs.recording import Recording

MESSAGES = 8000  # of 4 kB each, in chunks of 1 MB

# Loads everything once; each recording is a copy of this process. A recording reports each message.
KILLER = """
import os, signal, sys
from pathlib import Path
from recording_tools import STRING, our_class, text_bytes
from hrp_msgs.recording import Recorder

texts = [os.urandom(2000).hex() for _ in range(16)]
our_class(STRING), text_bytes("")

def write(path, report):
    recorder = Recorder(path, on_error=lambda error: None)
    channel = recorder.channel("/a", our_class(STRING), latched=False)
    number = 0
    while True:
        channel.write(number, text_bytes(f"{number} {texts[number % 16]}"))
        os.write(report, b".")
        number += 1

for index, moment in enumerate(map(int, sys.argv[2:])):
    reader, report = os.pipe()
    process = os.fork()
    if not process:
        write(Path(sys.argv[1], f"{index}.mcap"), report)
    os.close(report)
    written = 0
    while written < moment:
        written += len(os.read(reader, moment - written))
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    os.close(reader)
"""


@pytest.mark.parametrize(
    "kills", [pytest.param(8, id="few"), pytest.param(50, id="many", marks=pytest.mark.slow)]
)
def test_all_but_the_last_chunk_is_read_after_a_kill(kills, tmp_path):
    chance = random.Random(16)
    moments = [chance.randrange(MESSAGES) for _ in range(kills)]
    env = {"PYTHONPATH": f"{ROOT}:{ROOT / 'test' / 'support'}"}
    command = [sys.executable, "-c", KILLER, str(tmp_path), *map(str, moments)]
    subprocess.run(command, check=True, env=env, timeout=300)
    counts = []
    for index in range(kills):
        path = tmp_path / f"{index}.mcap"
        recording = Recording(path)
        assert recording.truncated
        read = list(recording.messages())
        assert [(m.topic, m.data) for m in read] == streamed(path)
        numbers = [int(m.message.data.split()[0]) for m in read]
        assert numbers == list(range(len(numbers)))
        counts.append(len(numbers))
    assert any(counts)  # had written chunks
