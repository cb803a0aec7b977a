"""Read URDF text in tests."""

import numpy as np
import pytest

from hrp_model import Diagnostics, ModelError, load_body_text

EXACT = {"rtol": 0.0, "atol": 1e-12}
HINGE = '<limit lower="-1" upper="2" velocity="3" effort="4"/>'


def robot(*parts, name="r"):
    """Return the text of a robot that holds these elements."""
    return f'<robot name="{name}">\n' + "\n".join(parts) + "\n</robot>\n"


def joint(name, parent, child, kind="fixed", inside=""):
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{inside}</joint>'


def arm(inside=HINGE, kind="revolute", link=""):
    """Return the text of two links and a joint between them."""
    links = f'<link name="base"/>\n<link name="arm">{link}</link>'
    return robot(links, joint("elbow", "base", "arm", kind, inside))


def read(text, **options):
    """Return the body in a text, and all diagnostics."""
    found = Diagnostics.silent()
    return load_body_text(text, found, name="r.urdf", **options), found.found


def refused(text, **options):
    """Return the diagnostics of a text without a valid body."""
    found = Diagnostics.silent()
    with pytest.raises(ModelError):
        load_body_text(text, found, name="r.urdf", **options)
    return found.found


def codes(found):
    return [diagnostic.code for diagnostic in found]


def equal(a, b):
    np.testing.assert_allclose(a, b, **EXACT)
