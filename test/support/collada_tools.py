"""The COLLADA robot of the tests, changed, and what is found in it."""

from paths import ROOT
from silent_diagnostics import silent

from hrp_model import ModelError, load_body_text

ARM = (ROOT / "test" / "data" / "collada" / "arm.dae").read_text(encoding="utf-8")
# A robot of two links without a scene.
BARE = """<COLLADA xmlns="http://www.collada.org/2008/03/COLLADASchema" version="1.5.0">
<asset><up_axis>Z_UP</up_axis></asset>
<library_joints>
<joint id="j" name="J"><revolute sid="a"><axis>0 0 1</axis></revolute></joint>
</library_joints>
<library_kinematics_models><kinematics_model id="k"><technique_common>
<instance_joint url="#j" sid="j"/>
<link sid="l0" name="BASE">
<attachment_full joint="k/j"><link sid="l1" name="TIP"/></attachment_full>
</link>
</technique_common></kinematics_model></library_kinematics_models>
</COLLADA>
"""


def changed(text, *changes):
    """Return a text with some parts replaced, each of which exists."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def arm(*changes):
    """Return the robot of test/data with changes, which make it no worse."""
    return load_body_text(changed(ARM, *changes), silent(), name="arm.dae")


def found(text):
    """Return what is reported about a text: its errors, or else all of it."""
    diagnostics = silent()
    try:
        load_body_text(text, diagnostics, name="arm.dae")
    except ModelError as error:
        return error.diagnostics
    return diagnostics.found
