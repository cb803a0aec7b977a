"""Malicious files for the tests of robustness."""

WRL = "#VRML V2.0 utf8\n"
BODY = "format: ChoreonoidBody\nformat_version: 2.0\nname: T\n"
LINK = BODY + "links: [ { name: A, elements: [ %s ] } ]\n"
TRIANGLES = (
    "Shape { geometry IndexedFaceSet { coord Coordinate { point [ 0 0 0 1 0 0 0 1 0 ] } %s } }"
)
SPHERE = "Shape { geometry Sphere { } }"
LEVELS = 30  # of what doubles on every one


def write(folder, **files):
    """Write files by name with "_" for the dot; return the path of the first."""
    paths = []
    for name, content in files.items():
        stem, _, suffix = name.rpartition("_")
        path = folder / f"{stem}.{suffix}"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        paths.append(path)
    return paths[0]


def shown(uri):
    """Return a body with the shapes of a file."""
    return LINK % f"{{ type: Resource, uri: {uri} }}"


def body_link(keys):
    """Return a body whose second link has these keys (flow YAML)."""
    return f"{BODY}links: [ {{ name: A }}, {{ name: B, parent: A, {keys} }} ]\n"
