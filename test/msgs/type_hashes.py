"""Type hashes of ROS interfaces by an independent implementation, from their definitions."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

UUID = "unique_identifier_msgs/msg/UUID"
TIME = "builtin_interfaces/msg/Time"
EVENT_INFO = "service_msgs/msg/ServiceEventInfo"
# To rosidl, and so to the hash, char is uint8.
EVENT_FIELDS = f"uint8 event_type\n{TIME} stamp\nuint8[16] client_gid\nint64 sequence_number"


def named(name):
    return Nodetype.NAME, name


def primitive(name):
    return Nodetype.BASE, (name, 0)


def at_most_one(name):
    return Nodetype.SEQUENCE, (named(name), 1)


def fields_of(text, package):
    """Return the fields that one section of a definition tells."""
    ((_, fields),) = get_types_from_msg(text, f"{package}/msg/Section").values()
    return fields


def service(name, request, response):
    """Return the types that make up a service, by their names."""
    return {
        name: [
            ("request_message", named(f"{name}_Request")),
            ("response_message", named(f"{name}_Response")),
            ("event_message", named(f"{name}_Event")),
        ],
        f"{name}_Request": request,
        f"{name}_Response": response,
        f"{name}_Event": [
            ("info", named(EVENT_INFO)),
            ("request", at_most_one(f"{name}_Request")),
            ("response", at_most_one(f"{name}_Response")),
        ],
    }


def action(name, goal, result, feedback):
    """Return the types that make up an action, by their names."""
    goal_id = ("goal_id", named(UUID))
    accepted = [("accepted", primitive("bool")), ("stamp", named(TIME))]
    status = [("status", primitive("int8")), ("result", named(f"{name}_Result"))]
    return {
        name: [
            ("goal", named(f"{name}_Goal")),
            ("result", named(f"{name}_Result")),
            ("feedback", named(f"{name}_Feedback")),
            ("send_goal_service", named(f"{name}_SendGoal")),
            ("get_result_service", named(f"{name}_GetResult")),
            ("feedback_message", named(f"{name}_FeedbackMessage")),
        ],
        f"{name}_Goal": goal,
        f"{name}_Result": result,
        f"{name}_Feedback": feedback,
        **service(f"{name}_SendGoal", [goal_id, ("goal", named(f"{name}_Goal"))], accepted),
        **service(f"{name}_GetResult", [goal_id], status),
        f"{name}_FeedbackMessage": [goal_id, ("feedback", named(f"{name}_Feedback"))],
    }


def types_of(path: Path, package: str):
    """Return the types that a .msg, .srv or .action file defines, by their names."""
    kind = path.suffix.removeprefix(".")
    name = f"{package}/{kind}/{path.stem}"
    text = path.read_text(encoding="utf-8")
    sections = [section.strip() for section in f"\n{text}".split("\n---")]
    fields = [fields_of(section, package) for section in sections]
    if kind == "msg":
        return {name: fields[0]}
    return (service if kind == "srv" else action)(name, *fields)


def type_hashes(
    package: str, files: Iterable[Path], needed: Mapping[str, Iterable[Path]] | None = None
) -> dict[str, str]:
    """Return the RIHS01 hash of every type that these files define, by the type's name.

    ``needed`` has the files of other packages, by their names.
    """
    store = get_typestore(Stores.ROS2_JAZZY)
    made = {EVENT_INFO: fields_of(EVENT_FIELDS, "service_msgs")}
    del store.fielddefs[EVENT_INFO]
    for name, paths in {**(needed or {}), package: files}.items():
        for path in paths:
            made |= types_of(path, name)
    store.register({name: ([], fields) for name, fields in made.items()})
    return {name: store.hash_rihs01(name) for name in made if name.startswith(f"{package}/")}
