"""A model as text: a slider-crank and a parallelogram on a plate that hangs in the world."""

# The rod is so short that the crank cannot turn further than asin(ROD / CRANK).
CRANK, ROD, SIDE = 0.5, 0.3, 0.1

_LINK = """
  - name: {name}
    parent: BASE
    jointType: {kind}
    translation: [ {place} ]
    mass: 1.0
    centerOfMass: [ 0, 0, 0 ]
    inertia: [ 0.01, 0, 0, 0, 0.01, 0, 0, 0, 0.01 ]"""
_HINGE = """
  - link1Name: {a}
    link2Name: {b}
    jointType: hinge
    jointAxis: [ 0, 0, 1 ]
    link1LocalPos: [ {at_a} ]
    link2LocalPos: [ {at_b} ]"""


def link(name, kind, place, parent="BASE", **keys):
    text = _LINK.format(name=name, kind=kind, place=place).replace("BASE", parent)
    return text + "".join(f"\n    {key}: {value}" for key, value in keys.items())


def mechanism(name="mechanism", *extra, limit=1.5):
    """Return the text of a .body file, with more links if there are to be any."""
    z = {"jointAxis": "[ 0, 0, 1 ]"}
    links = [
        link("CRANK", "revolute", "0, 0, 0", jointId=0, jointRange=f"[ -{limit}, {limit} ]", **z),
        link("ROD", "revolute", f"{CRANK}, 0, 0", "CRANK", **z),
        link("SLIDER", "prismatic", f"{CRANK + ROD}, 0, 0", jointAxis="[ 1, 0, 0 ]"),
        link("LEFT", "revolute", "0, 0, 1", jointId=1, **z),
        link("TOP", "revolute", f"0, {SIDE}, 0", "LEFT", **z),
        link("RIGHT", "revolute", f"{CRANK}, 0, 1", **z),
        *extra,
    ]
    hinges = [
        _HINGE.format(a="ROD", b="SLIDER", at_a=f"{ROD}, 0, 0", at_b="0, 0, 0"),
        _HINGE.format(a="TOP", b="RIGHT", at_a=f"{CRANK}, 0, 0", at_b=f"0, {SIDE}, 0"),
    ]
    base = link("BASE", "fixed", "1, 2, 3").replace("\n    parent: BASE", "")
    return (
        f"format: ChoreonoidBody\nformatVersion: 1.0\nangleUnit: radian\nname: {name}\n"
        f"rootLink: BASE\nlinks:{base}{''.join(links)}\nextraJoints:{''.join(hinges)}\n"
    )
