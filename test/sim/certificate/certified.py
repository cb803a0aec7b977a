"""Certificates of URDFs that were changed after writing."""

from xml.etree import ElementTree

from verify_samples import written

from hrp_sim.lab.certificate import certify


def certified_after(change, body, folder):
    """Return the certificate of a body's URDF that was changed.

    Args:
        change: Called with the root element of the URDF.
        body: The model.
        folder: Where the URDF is written.
    """
    path = written(body, folder)
    tree = ElementTree.parse(path)
    change(tree.getroot())
    tree.write(path)
    return certify(body, path, states=5)


def rows_of(certificate, library):
    """Return the rows of a library by quantity, in a certificate of one part."""
    (report,) = certificate.parts.values()
    return {row.quantity: row for row in report.rows_of(library)}
