"""Codes of files and their text: what is written cannot be read as it stands."""

from __future__ import annotations

CODES = {
    "alias-bomb": (
        "aliases multiply the file beyond any model",
        "write repeated parts out, or put them in a file of their own",
    ),
    "alias-cycle": (
        "a YAML node contains itself",
        "remove the alias that leads back to its own anchor",
    ),
    "ambiguous-use": ("USE of a name that two nodes have", "give each DEF a name of its own"),
    "bad-key": (
        "a YAML key is not a single value",
        "write the key as one word; quote it if it has special characters",
    ),
    "bad-merge": (
        "a merge key is not given a mapping",
        'write "<<: *name", or a list of such aliases',
    ),
    "duplicate-anchor": (
        "two YAML nodes have the same anchor",
        "give each anchor a name of its own",
    ),
    "duplicate-field": ("a field is written twice in a node", "remove one of the two"),
    "duplicate-key": ("a key is written twice in a mapping", "remove one of the two"),
    "duplicate-proto": ("two PROTOs have the same name", "remove one of the two, or rename it"),
    "empty-file": ("the file holds nothing", "check that the file was saved and copied completely"),
    "empty-value": ("a key has no value", "write a value, or leave the key out"),
    "xml-entity": (
        "XML defines an entity, which may stand for any amount of text",
        "write out the text itself wherever the entity is used",
    ),
    "incomplete-file": (
        "a file of the description package that was changed by hand lacks what is needed now",
        "add what the message names",
    ),
    "internal-error": (
        "reading the file failed in an unforeseen way",
        "this is a defect of hrp-model; please report it with the file",
    ),
    "kept-file": (
        "a file that goes with the URDF was changed by hand, and is kept",
        "move it away to have a new one written, and bring the changes in there",
    ),
    "link-outside": (
        "a symbolic link leads out of the model's folder",
        "name the file itself in the model, or allow its folder with --allow",
    ),
    "bad-baseline": (
        "the file of known problems that the settings name cannot be used",
        "write it anew with 'hrp-model check --write-baseline FILE'",
    ),
    "missing-def-name": (
        "DEF without a name",
        "write a name between DEF and the node, or remove DEF",
    ),
    "missing-library": (
        "a file needs a library that is not installed",
        "install what the message names, then read the model again",
    ),
    "missing-model": (
        "there is no such model",
        "check the path; package:// needs the package's workspace to be sourced",
    ),
    "missing-resource": (
        "a file that the model names does not exist",
        "paths are relative to the folder of the file that names them",
    ),
    "more-documents": (
        "a YAML file holds several documents",
        "put each document in a file of its own",
    ),
    "not-a-model": (
        "the file is no robot model",
        "a model holds links, a Humanoid node, or the name of a model file",
    ),
    "not-an-integer": ("a whole number is written with a fraction", "write it without a fraction"),
    "not-text": ("the file is binary, not text", "check the suffix: it tells how a file is read"),
    "odd-count": ("numbers are missing or too many", "write a full set of numbers for each value"),
    "outside-sandbox": (
        "a reference leads out of the folders that may be read, or needs the environment",
        "name the file by a path in the folder of the model, or allow its folder with --allow",
    ),
    "resource-cycle": ("files include each other", "remove the reference that leads back"),
    "stray-character": (
        "a character stands where none may",
        "remove it, or put the text in quotes",
    ),
    "stray-is": ("IS outside of a PROTO", "write a value instead of IS"),
    "syntax-error": (
        "the text does not follow the grammar",
        "look at the place and just before it: a bracket or a value is often missing",
    ),
    "template": (
        "the file is a template, not a model",
        "fill the template in with the program that it belongs to",
    ),
    "toml-syntax": (
        "the settings are not TOML",
        "look at the place and just before it: a quotation mark, a bracket or a comma",
    ),
    "too-deep": ("parts are nested deeper than can be read", "check that no part contains itself"),
    "too-large": (
        "the file stands for more than any model holds",
        "check for PROTOs, USEs and grids that multiply one another",
    ),
    "too-many-errors": (
        "reading was given up after many errors",
        "mend the first errors and check again",
    ),
    "trailing-text": (
        "text follows a number",
        "leave a blank after the number, or remove what follows",
    ),
    "two-spellings": ("the same key is written in two spellings", "remove one of the two"),
    "undeclared-field": (
        "a field is set that the file's own PROTO lacks",
        "declare the field in the PROTO, or remove it",
    ),
    "unexpected-end": (
        "the file ends in the middle of something",
        "check that the file is complete and every bracket is closed",
    ),
    "unknown-alias": (
        "a YAML alias has no anchor",
        "write the anchor (&name) before the alias (*name)",
    ),
    "unknown-code": (
        "the settings of the project name a code that no problem has",
        "'hrp-model check --list-codes' lists all codes",
    ),
    "unknown-field-type": (
        "a field is declared with an unknown type",
        "use a type of VRML97, such as SFFloat or MFVec3f",
    ),
    "unknown-is": (
        "IS names a field that the PROTO lacks",
        "declare the field in the PROTO's interface",
    ),
    "unknown-setting": (
        "the settings of the project have an unknown key",
        "write baseline, exclude, ignore or per-file-ignores",
    ),
    "unknown-suffix": (
        "the kind of a file is not known",
        "convert it to one of the kinds that are listed",
    ),
    "unknown-use": (
        "USE names what no DEF above it names",
        "write the DEF before the USE, and check the spelling",
    ),
    "unknown-version": (
        "the version of the format is not known",
        "save the model in a version up to the newest one that is known",
    ),
    "unreadable-file": (
        "a model file cannot be read",
        "check that the path is right and the file may be read",
    ),
    "unreadable-part": (
        "parts of a mesh file are left out",
        "open it in a viewer and save it again; check that it is complete",
    ),
    "unreadable-resource": (
        "a mesh or scene file cannot be used",
        "open it in a viewer and save it again; check that it is complete",
    ),
    "unterminated-string": ("a string has no end", "close it with a quotation mark"),
    "vrml-1": (
        "the file is VRML 1.0",
        "export it again from the program that made it, as VRML97",
    ),
    "wrong-count": (
        "a value has too few or too many numbers",
        "write as many numbers as the message says",
    ),
    "wrong-type": (
        "a value is of the wrong kind",
        "write the kind of value that the message names",
    ),
    "wrong-value": ("a value does not fit its field", "write a value of the field's type"),
    "x3d": ("the file is X3D", "export it again from the program that made it, as VRML97"),
    "xml-syntax": (
        "the text is no XML",
        "look at the place and just before it: an end tag or a quotation mark is often missing",
    ),
    "yaml-syntax": (
        "the text is no YAML",
        "look at the place and just before it: indentation, a colon or a quotation mark",
    ),
}
