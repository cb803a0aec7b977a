"""Files of saved worlds: what is written comes back, and whatever else comes is refused."""

import io
import os
import subprocess
import sys
import zipfile
from contextlib import redirect_stdout

import numpy as np
import pytest
from paths import MODELS

from hrp_sim import PhysicsError, Simulation, Snapshot, load_world


@pytest.fixture(scope="module")
def snapshot():
    simulation = Simulation(load_world(MODELS / "worlds" / "arm.yaml"), defer_images=True)
    simulation.push("arm", "BASE", np.ones(3), np.zeros(3), 1.0)
    for _ in range(20):
        simulation.step()
    return simulation.save()


def test_what_is_written_comes_back_to_the_last_bit(snapshot, tmp_path):
    path = tmp_path / "s.npz"
    snapshot.to_file(path)
    back = Snapshot.from_file(path)
    assert back.arrays.keys() == snapshot.arrays.keys()
    for name, array in snapshot.arrays.items():
        assert back.arrays[name].dtype == array.dtype
        assert back.arrays[name].shape == array.shape
        assert back.arrays[name].tobytes() == array.tobytes()
    with np.load(path, allow_pickle=False) as file:
        np.testing.assert_array_equal(
            file["physics/arm/group_p"], back.arrays["physics/arm/group_p"]
        )


def test_equal_states_make_equal_files_and_a_file_is_replaced_whole(snapshot, tmp_path):
    one, two = tmp_path / "one.npz", tmp_path / "two.npz"
    one.write_text("something else")
    snapshot.to_file(one)
    snapshot.to_file(two)
    assert one.read_bytes() == two.read_bytes()
    bad = Snapshot({**snapshot.arrays, "physics/a\0b/group_p": np.zeros(1)})
    with pytest.raises(PhysicsError, match=r"one.npz': the name .* cannot be written"):
        bad.to_file(one)
    with pytest.raises(ValueError, match="allow_pickle"):
        Snapshot({"x": np.array([object()])}).to_file(one)
    assert one.read_bytes() == two.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["one.npz", "two.npz"]


SETTINGS = """\
from hrp_sim.engine.engine import PhysicsSettings
from hrp_sim.engine.materials import ContactMaterial, MaterialTable, material_pair
from hrp_sim.engine.snapshot import settings_lines
pairs = {material_pair(a, b): ContactMaterial(0.25, 0.5) for a in "ABC" for b in "DEFG"}
print(settings_lines(PhysicsSettings(materials=MaterialTable(pairs=pairs))).tolist())
"""


def test_a_snapshot_has_the_same_settings_in_every_process():
    done = subprocess.run(
        [sys.executable, "-c", SETTINGS], check=True, capture_output=True, text=True
    )  # of other hashes of text
    with redirect_stdout(io.StringIO()) as here:
        exec(SETTINGS, {})
    assert done.stdout == here.getvalue()
    assert "['A', 'D']: ContactMaterial(friction=0.25, restitution=0.5)" in done.stdout


def packed(path, *members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members:
            archive.writestr(name, data)


def npy(array, **options):
    data = io.BytesIO()
    np.lib.format.write_array(data, np.asarray(array), **options)
    return data.getvalue()


def headed(dtype, shape):
    """Sixteen bytes behind a header that says something else."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + b"\0" * 16


VERSION = ("format.npy", npy("hrp_ros world 1"))


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("members", "words"),
    [
        ([("x.npy", npy(np.zeros(3)))], "that this version can read"),
        ([("format.npy", npy("hrp_ros world 2"))], "that this version can read"),
        ([VERSION, VERSION], "two arrays of the same name"),
        ([VERSION, ("x.npy", npy(np.array([{}, 1], dtype=object)))], "is not an array"),
        ([VERSION, ("x.npy", npy(np.zeros(3, dtype=np.float32)))], "is not an array"),
        ([VERSION, ("x.npy", npy(np.zeros(3, dtype=">f8")))], "is not an array"),
        ([VERSION, ("x.npy", npy(np.zeros((2, 3)).T))], "is not an array"),
        ([VERSION, ("x.npy", npy(np.zeros(3, dtype="f8,i4")))], "is not an array"),
        ([VERSION, ("x.npy", npy(np.zeros(3), version=(2, 0)))], "'x' is not an array"),
        ([VERSION, ("x.npy", npy(np.zeros(3))[:-1])], "differs from that in its header"),
        ([VERSION, ("x.npy", b"")], "'x' is not an array"),
        ([VERSION, ("x.npy", headed("<f8", "(3,)"))], "differs from that in its header"),
        (
            [VERSION, ("x.npy", headed("<f8", "(" + "9" * 18 + ",)"))],
            "differs from that in its header",
        ),
        ([VERSION, ("x.npy", headed("<f8", "(" + "9" * 99 + ",)"))], "is not an array"),
        ([VERSION, ("x.npy", headed("<f8", "(-2, -1)"))], "is not an array"),
        ([VERSION, ("x.npy", headed("<f8", "(1,) * 9**9**9"))], "is not an array"),
        ([VERSION, ("x.npy", headed("|V0", "(2,)"))], "is not an array"),
        ([VERSION, ("x.npy", headed("<U0", "(" + "1" + "0" * 17 + ",)")[:-16])], "is not an array"),
        ([VERSION, ("x.npy", headed("<U999999999", "()"))], "is not an array"),
        ([VERSION, ("x.npy", headed("|O", "(2,)"))], "is not an array"),
        ([VERSION, ("x.npy", headed("<U0", "(0, " + "9" * 18 + ", " + "9" * 18 + ")"))], ""),
    ],
)
def test_a_file_that_is_no_snapshot_is_refused_by_name(tmp_path, members, words):
    path = tmp_path / "bad.npz"
    packed(path, *members)
    with pytest.raises(PhysicsError, match=f"bad.npz' is not a snapshot of a world.*{words}"):
        Snapshot.from_file(path)


def test_text_that_is_no_text_and_compressed_data_are_refused(tmp_path):
    path = tmp_path / "bad.npz"
    letters = npy("abcd")
    packed(path, VERSION, ("x.npy", letters[:-4] + b"\xff\xff\xff\xff"))
    with pytest.raises(PhysicsError, match="invalid characters"):
        Snapshot.from_file(path)
    packed(path, VERSION, ("x.npy", npy(np.zeros(10**6))), compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(PhysicsError, match="is compressed"):
        Snapshot.from_file(path)


def test_a_file_that_claims_to_be_huge_is_refused(tmp_path):
    path = tmp_path / "big.npz"
    packed(path, ("x.npy", npy(np.zeros(1000))))
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02") + 24  # where the directory has the size of the member
    data[at : at + 4] = (2**30).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(
        PhysicsError, match=r"big.npz' is not a snapshot of a world: it contains more"
    ):
        Snapshot.from_file(path)


def test_members_are_counted_before_they_are_listed(tmp_path, monkeypatch):
    path = tmp_path / "many.npz"
    packed(path, *((f"x{i}.npy", b"") for i in range(11)))
    monkeypatch.setattr("hrp_sim.engine.snapshot._MAX_ARRAYS", 10)
    with pytest.raises(PhysicsError, match="more than 10 arrays"):
        Snapshot.from_file(path)


def test_a_huge_file_is_refused_unread(tmp_path):
    path = tmp_path / "huge.npz"
    path.touch()
    os.truncate(path, 2**30)  # sparse: it takes no room
    with pytest.raises(OSError, match="Larger than 256 MiB"):
        Snapshot.from_file(path)


def test_what_is_not_a_file_is_an_error_of_the_system(tmp_path):
    for path in (tmp_path, tmp_path / "nowhere.npz"):
        with pytest.raises(OSError, match=str(path)):
            Snapshot.from_file(path)
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="file"):
        Snapshot({}).to_file(tmp_path / "file" / "s.npz")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="Not a regular file"):
        Snapshot.from_file(tmp_path / "pipe")


def test_damaged_files_are_refused_or_read_never_more(snapshot, tmp_path):
    """Bytes changed, cut out and doubled at random. What is unpacked has check sums."""
    rng = np.random.default_rng(11)
    path = tmp_path / "s.npz"
    snapshot.to_file(path)
    whole = path.read_bytes()
    refused = 0
    for _ in range(400):
        data = bytearray(whole)
        where = int(rng.integers(len(data)))
        if rng.random() < 0.5:  # mostly where the structure is: in the directory at the end
            where = len(data) - 1 - int(rng.integers(4000))
        kind = rng.integers(3)
        if kind == 0:
            data[where] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del data[where : where + int(rng.integers(1, 50))]
        else:
            data[where:where] = data[where : where + int(rng.integers(1, 50))]
        path.write_bytes(data)
        try:
            Snapshot.from_file(path)
        except PhysicsError:  # anything else fails the test
            refused += 1
    assert refused > 300
