"""Codes of problems with files and their syntax."""

from __future__ import annotations

CODES = {
    "alias-bomb": (
        "aliases expand the file to an implausible size",
        "write repeated parts out, or put them into a separate file",
    ),
    "alias-cycle": (
        "a YAML node contains itself",
        "remove the alias that refers to a node around itself",
    ),
    "ambiguous-use": ("a USE names two DEF nodes", "give each DEF a unique name"),
    "bad-key": (
        "a YAML key is not a single value",
        "write the key as one scalar; quote it if it has special characters",
    ),
    "bad-merge": (
        "the value of a merge key is not a mapping",
        'write "<<: *name", or a list of such aliases',
    ),
    "duplicate-anchor": (
        "two YAML nodes have the same anchor",
        "give each anchor a unique name",
    ),
    "duplicate-field": ("a field is written twice in a node", "remove one of the two"),
    "duplicate-key": ("a key is written twice in a mapping", "remove one of the two"),
    "duplicate-proto": ("two PROTOs have the same name", "remove one of the two, or rename it"),
    "empty-file": ("the file is empty", "check that the file was saved and copied completely"),
    "empty-value": ("a key has no value", "write a value, or leave the key out"),
    "expanded-xacro": (
        "a file that is not named .xacro has macros, which are expanded",
        "rename the file, if it is yours, so that its name ends with .xacro",
    ),
    "xml-comment": (
        "a comment of an XML file contains two hyphens",
        "write the comment without '--', which XML does not allow in comments",
    ),
    "false-encoding": (
        "an XML file is not in the encoding that it declares",
        "write the name of its encoding into the first line, or save the file as UTF-8",
    ),
    "xml-entity": (
        "the XML file defines an entity, which could expand without bound",
        "write out the text of the entity",
    ),
    "incomplete-file": (
        "an edited file of the description package lacks entries",
        "add the entries that the message lists",
    ),
    "internal-error": (
        "an unexpected error occurred while reading the file",
        "please report this bug of hrp-model with the file",
    ),
    "kept-file": (
        "a file was edited by hand and is kept",
        "to update it, move it away, run the command again, and merge your changes",
    ),
    "link-outside": (
        "a symbolic link leads out of the model's folder",
        "reference the file itself in the model, or allow its folder with --allow",
    ),
    "bad-baseline": (
        "the baseline file in the settings is invalid",
        "write it again with 'hrp-model check --write-baseline FILE'",
    ),
    "missing-def-name": (
        "DEF without a name",
        "write a name between DEF and the node, or remove DEF",
    ),
    "missing-library": (
        "a file needs a library that is not installed",
        "install the library that the message names",
    ),
    "missing-model": (
        "the model file does not exist",
        "check the path; source the workspace of package://; set the variable of ${NAME}",
    ),
    "missing-resource": (
        "a file that the model references does not exist",
        "check the path, which is relative to the folder of the referencing file",
    ),
    "more-documents": (
        "a YAML file holds several documents",
        "put each document into a separate file",
    ),
    "mujoco-warning": (
        "MuJoCo warns about the model",
        "read the message; such a model may be impossible to simulate",
    ),
    "no-counterpart": (
        "a part of an MJCF, SDF or COLLADA has no counterpart and is left out",
        "check whether the robot needs it; if so, model it by links, joints and shapes",
    ),
    "not-a-model": (
        "the file is not a robot model",
        "check the file: a model has links, a Humanoid node or a modelFile key",
    ),
    "not-an-integer": ("an integer is written with a fraction", "write it without a fraction"),
    "not-text": ("the file is binary, not text", "check the suffix, which selects the reader"),
    "odd-count": (
        "the number of values is not a multiple of the size",
        "write all numbers of each value",
    ),
    "outside-sandbox": (
        "a reference leads out of the sandbox, or needs environment variables",
        "reference a file in the folder of the model, or allow its folder with --allow",
    ),
    "refused-model": (
        "MuJoCo cannot compile the model",
        "fix the element that the message names",
    ),
    "resource-cycle": ("files include each other", "remove one of the references"),
    "stray-character": (
        "a character is not allowed here",
        "remove it, or put the text in quotes",
    ),
    "stray-is": ("IS is used outside of a PROTO", "write a value instead of IS"),
    "syntax-error": (
        "the text does not follow the grammar",
        "check the text at and before the marked place for a missing bracket or value",
    ),
    "template": (
        "the file is a template, not a model",
        "run the program that fills in the template, and use its output",
    ),
    "toml-syntax": (
        "the settings are not valid TOML",
        "check the text at and before the marked place: quotation marks, brackets, commas",
    ),
    "too-deep": ("parts are nested too deep", "check that no part contains itself"),
    "too-large": (
        "the file expands to an implausible size",
        "check for nested PROTOs, USEs and grids",
    ),
    "too-many-errors": (
        "reading stopped after too many errors",
        "fix the first errors and check again",
    ),
    "trailing-text": (
        "a number is followed by text",
        "add a blank after the number, or remove the text",
    ),
    "two-spellings": ("a key is given in two spellings", "remove one of the two"),
    "undeclared-field": (
        "a field is set that the PROTO does not declare",
        "declare the field in the PROTO, or remove it",
    ),
    "unexpected-end": (
        "the file ends unexpectedly",
        "check that the file is complete and all brackets are closed",
    ),
    "unknown-alias": (
        "a YAML alias has no anchor",
        "write the anchor (&name) before the alias (*name)",
    ),
    "unknown-argument": (
        "a model has no argument of this name",
        "check the name; the file declares its arguments by <xacro:arg>",
    ),
    "unknown-code": (
        "the settings contain an unknown code",
        "check the code; 'hrp-model check --list-codes' lists all codes",
    ),
    "unknown-field-type": (
        "a field is declared with an unknown type",
        "use a VRML97 type, such as SFFloat or MFVec3f",
    ),
    "unknown-is": (
        "IS names a field that the PROTO does not declare",
        "declare the field in the PROTO's interface",
    ),
    "unknown-setting": (
        "the settings contain an unknown key",
        "use baseline, exclude, ignore or per-file-ignores",
    ),
    "unknown-suffix": (
        "a file format is not supported",
        "convert the file to one of the listed formats",
    ),
    "unknown-use": (
        "a USE has no DEF before it",
        "write the DEF before the USE, and check the spelling",
    ),
    "unknown-version": (
        "the version of the format is not supported",
        "save the model in a supported version",
    ),
    "unsourced-package": (
        "a package, or a file that its build may install, is in no sourced workspace",
        "build the workspace of the package and source it, or check the name",
    ),
    "unreadable-file": (
        "a model file cannot be read",
        "check the path and the permissions of the file",
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
    "viewer-camera": (
        "a camera of an MJCF that follows a body is left out",
        "nothing needs to be done; only fixed cameras are sensors",
    ),
    "vrml-1": (
        "the file is VRML 1.0 or Open Inventor",
        "export it again from the program that made it, as VRML97",
    ),
    "wrong-count": (
        "a value has the wrong number of elements",
        "write as many elements as the message states",
    ),
    "wrong-type": (
        "a value has the wrong type",
        "write a value of the type that the message states",
    ),
    "wrong-value": ("a value is invalid for its field", "write a value of the field's type"),
    "x3d": ("the file is X3D", "export it again from the program that made it, as VRML97"),
    "xacro-error": (
        "the macros or expressions of a xacro file cannot be expanded",
        "check the named macro, argument or expression",
    ),
    "xacro-message": ("a xacro file prints a message", "read it; nothing needs to be changed"),
    "xacro-warning": (
        "xacro or the file itself warns",
        "change the file as the message suggests",
    ),
    "xml-syntax": (
        "the text is not valid XML",
        "check the text at and before the marked place for a missing end tag or quotation mark",
    ),
    "yaml-syntax": (
        "the text is not valid YAML",
        "check the text at and before the marked place: indentation, colons, quotation marks",
    ),
}
