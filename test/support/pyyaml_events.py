"""The events of hrp_model.readers.yaml._yaml by PyYAML: what the extension must read alike.

Only the extension combines lists of plain numbers, and plain entries of mappings, into one event
each.
"""

import yaml

from hrp_model.readers.yaml.tree import ALIAS, ANCHOR, CLOSE, DOCUMENT, LIST, MAPPING

LOADERS = {"PyYAML's Python": yaml.SafeLoader}
if yaml.__with_libyaml__:
    LOADERS["PyYAML's libyaml"] = yaml.CSafeLoader
_CLOSING = (yaml.SequenceEndEvent, yaml.MappingEndEvent)


class PyYamlEvents:
    """In place of the extension, with one of PyYAML's loaders."""

    def __init__(self, loader):
        self._loader = loader

    def Events(self, text, shift, error, context, scalar, _):  # noqa: N802 - as in the extension
        """Yield the events; raise what ``error`` returns if the text is not valid YAML."""
        try:
            loader = self._loader(text.encode("utf-8", "replace").decode("utf-8"))
            while (event := loader.get_event()) is not None:
                yield from _converted(event, shift, context, scalar)
        except yaml.MarkedYAMLError as found:
            offset = found.problem_mark.index + shift if found.problem_mark else 0
            raise error(found.context, found.problem, offset, -1) from None
        except yaml.reader.ReaderError as found:
            raise error(None, found.reason, 0, found.character) from None


def _converted(event, shift, context, scalar):
    start, end = event.start_mark.index + shift, event.end_mark.index + shift
    if isinstance(event, yaml.AliasEvent):
        yield (ALIAS, start, end, event.anchor)
    elif getattr(event, "anchor", None) is not None:
        yield (ANCHOR, start, end, event.anchor)
    if isinstance(event, yaml.ScalarEvent):
        yield scalar(event.value, event.implicit[0], context, start, end)
    elif isinstance(event, yaml.SequenceStartEvent):
        yield (LIST, start, end, b"")
    elif isinstance(event, yaml.MappingStartEvent):
        yield (MAPPING, start, end, ({}, None, 0))
    elif isinstance(event, _CLOSING):
        yield (CLOSE, start, end, None)
    elif isinstance(event, yaml.DocumentStartEvent):
        yield (DOCUMENT, start, end, None)
