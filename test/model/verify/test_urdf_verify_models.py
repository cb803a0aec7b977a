"""URDFs of published robots against independent libraries."""

import random

import pytest
from each_case import check_each, mostly_slow, some_or_all
from paths import SHARED, needs_shared
from verify_samples import main_models, report_of, silent

from hrp_model import load_body
from hrp_model.diagnostics import ModelError
from hrp_model.urdf import body_to_urdf
from hrp_model.verify import verify

pytest.importorskip("pinocchio", reason="pinocchio reads URDFs independently of us")
MODELS = SHARED / "models"
# The share of models that are compared with every library and all their meshes.
SAMPLE = 12


ALL = main_models()
SAMPLED = random.Random(7).sample(ALL, min(SAMPLE, len(ALL)))


def read(model):
    return load_body(MODELS / model, silent())


@needs_shared
def test_the_list_names_models():
    assert len(ALL) > 190
    with pytest.raises(ModelError):
        read("fkanehiro__simtrans/simtrans/template/vrml.wrl")


@needs_shared
@some_or_all("models", ALL, 12)
def test_kinematics_and_dynamics_are_the_models(models, tmp_path):
    check_each(models, lambda model: check_motion(model, tmp_path))


def check_motion(model, tmp_path):
    body = read(model)
    path = tmp_path / "robot.urdf"
    path.write_text(body_to_urdf(body, diagnostics=silent()), encoding="utf-8")
    report = verify(body, path, libraries=["pinocchio"], shapes=False, postures=2)
    assert report.passed, report


@needs_shared
@pytest.mark.parametrize("model", mostly_slow(SAMPLED, 1))
def test_everything_is_the_models(model, tmp_path):
    pytest.importorskip("mujoco", reason="MuJoCo reads URDFs independently of us")
    report = report_of(read(model), tmp_path, postures=1)
    assert report.passed, report
