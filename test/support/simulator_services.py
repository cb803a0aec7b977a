"""Requests to the standard simulation services, in any version of simulation_interfaces."""

from __future__ import annotations

from simulation_interfaces import srv


def ask(peer, service, /, **fields):
    """Call a service of sim_node, such as ``spawn_entity``; return its response.

    Args:
        peer: A ``Peer``.
        service: Name of the service.
        fields: Fields of the request, named as in version 2.1.
    """
    kind = getattr(srv, "".join(word.capitalize() for word in service.split("_")))
    return peer.call(f"sim_node/{service}", kind, **as_installed(kind.Request, fields))


def as_installed(message_type, fields):
    """Return the fields of version 2.1 as the installed version has them.

    Before, a resource was two fields of the request, and there were no flags of the parts to set.
    """
    known = message_type.get_fields_and_field_types()
    fitting = {name: value for name, value in fields.items() if name in known}
    for name in fields.keys() & {"entity_resource", "world_resource"} - known.keys():
        fitting.update(uri=fields[name].uri, resource_string=fields[name].resource_string)
    return fitting


def feature_numbers(message_type):
    """Return the features that the installed version defines, by name."""
    names = (name for name in dir(message_type) if name.isupper())
    return {n: value for n in names if isinstance(value := getattr(message_type, n), int)}
