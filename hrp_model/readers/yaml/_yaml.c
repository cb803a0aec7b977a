/* Events of libyaml; plain nodes are combined into single events. See events.py. */
#include "../_numbers.h"

#include <math.h>
#include <structmember.h>
#include <yaml.h>

/* As in events.py. */
enum { ANCHOR, ALIAS, LIST, MAPPING, ENTRIES, CLOSE, DOCUMENT };

/* The slots of class Scalar. */
enum { TEXT, PLAIN, CONTEXT, START, END, SLOTS };
static const char *const slot_names[SLOTS] = {"text", "plain", "_context", "start", "_end"};

typedef struct {
    PyObject_HEAD
    PyObject *text;          /* keeps the parser's input alive */
    PyObject *error;         /* makes the exception for a syntax error */
    PyObject *context;       /* shared by all nodes */
    PyTypeObject *scalar;    /* the class of scalars */
    PyObject *sequence;      /* the class of lists */
    Py_ssize_t slots[SLOTS]; /* offsets of the slots of a scalar */
    Py_ssize_t shift;
    yaml_parser_t parser;
    PyObject *next;     /* return value of the next call, or NULL */
    yaml_event_t ahead; /* an event read ahead, unless its type is YAML_NO_EVENT */
    int named;          /* whether its anchor was returned */
    int lists;          /* whether offsets fit into uint32 */
    int ready, failed, done;
} Events;

static PyObject *raise_syntax_error(Events *self)
{
    yaml_parser_t *parser = &self->parser;
    if (parser->error == YAML_MEMORY_ERROR)
        return PyErr_NoMemory();
    int character = parser->error == YAML_READER_ERROR ? parser->problem_value : -1;
    size_t at = parser->error == YAML_READER_ERROR ? 0 : parser->problem_mark.index;
    PyObject *error = PyObject_CallFunction(self->error, "zzni", parser->context, parser->problem,
                                            (Py_ssize_t)at + self->shift, character);
    if (error && PyExceptionInstance_Check(error))
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    else if (error)
        PyErr_SetString(PyExc_TypeError, "the error given is no exception");
    Py_XDECREF(error);
    return NULL;
}

/* Read the next event. Returns 0 after a syntax error, which the next call raises. */
static int read_event(Events *self, yaml_event_t *event)
{
    self->failed = !yaml_parser_parse(&self->parser, event);
    return !self->failed;
}

static PyObject *text_of(const yaml_char_t *text)
{
    return PyUnicode_FromString((const char *)text);
}

/* Return (kind, start, end, content); steals the reference to `content`. */
static PyObject *event_tuple(const Events *self, int kind, size_t start, size_t end,
                             PyObject *content)
{
    if (!content)
        return NULL;
    return Py_BuildValue("(innN)", kind, (Py_ssize_t)start + self->shift,
                         (Py_ssize_t)end + self->shift, content);
}

/* Return an instance of Scalar, without calling its Python constructor. */
static PyObject *scalar_node(const Events *self, const yaml_event_t *event)
{
    PyObject *node = self->scalar->tp_alloc(self->scalar, 0);
    if (!node)
        return NULL;
    PyObject *values[SLOTS];
    values[TEXT] = PyUnicode_DecodeUTF8((const char *)event->data.scalar.value,
                                        (Py_ssize_t)event->data.scalar.length, "strict");
    values[PLAIN] = PyBool_FromLong(event->data.scalar.plain_implicit);
    values[CONTEXT] = Py_NewRef(self->context);
    values[START] = PyLong_FromSsize_t((Py_ssize_t)event->start_mark.index + self->shift);
    values[END] = PyLong_FromSsize_t((Py_ssize_t)event->end_mark.index + self->shift);
    int complete = 1;
    for (int i = 0; i < SLOTS; i++) {
        *(PyObject **)((char *)node + self->slots[i]) = values[i];
        complete = complete && values[i];
    }
    if (!complete)
        Py_CLEAR(node);
    return node;
}

/* Add a scalar to a list of numbers: 1 if it is one without an anchor, 0 if not, -1 with an
 * exception set. */
static int add_number(Events *self, const yaml_event_t *event, Buffer *values, Buffer *starts)
{
    if (event->type != YAML_SCALAR_EVENT || event->data.scalar.anchor ||
        !event->data.scalar.plain_implicit || event->data.scalar.tag)
        return 0;
    double value;
    const char *text = (const char *)event->data.scalar.value;
    const char *end = read_number(text, &value);
    if (!end)
        return -1;
    if (end == text || end != text + event->data.scalar.length || !isfinite(value))
        return 0;
    double *next_value = buffer_take(values, sizeof value);
    uint32_t *next_start = next_value ? buffer_take(starts, sizeof(uint32_t)) : NULL;
    if (!next_start)
        return -1;
    *next_value = value;
    *next_start = (uint32_t)(event->start_mark.index + (size_t)self->shift);
    return 1;
}

static const yaml_char_t *anchor_of(const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return event->data.scalar.anchor;
    case YAML_SEQUENCE_START_EVENT:
        return event->data.sequence_start.anchor;
    case YAML_MAPPING_START_EVENT:
        return event->data.mapping_start.anchor;
    default:
        return NULL;
    }
}

/* Read the numbers at the beginning of a list. If it has no other items, return it as a node,
 * else as a start of a list, whose other items follow with the next calls. */
static PyObject *list_object(Events *self, const yaml_event_t *list)
{
    Buffer values = {NULL, 0}, starts = {NULL, 0};
    PyObject *result = NULL, *first = NULL, *numbers = NULL;
    size_t start = list->start_mark.index;
    int added = self->lists;
    while (added > 0) {
        if (!read_event(self, &self->ahead))
            break;
        added = add_number(self, &self->ahead, &values, &starts);
        if (added > 0)
            yaml_event_delete(&self->ahead);
    }
    if (added < 0 || !(first = buffer_finish(&starts)))
        goto end;
    if (self->ahead.type != YAML_SEQUENCE_END_EVENT) {
        result = event_tuple(self, LIST, start, list->end_mark.index, Py_NewRef(first));
        goto end;
    }
    if ((numbers = buffer_finish(&values)))
        result = PyObject_CallFunction(self->sequence, "OnnOOO", self->context,
                                       (Py_ssize_t)start + self->shift,
                                       (Py_ssize_t)self->ahead.end_mark.index + self->shift,
                                       Py_None, numbers, first);
    yaml_event_delete(&self->ahead);
end:
    Py_XDECREF(first);
    Py_XDECREF(numbers);
    buffer_drop(&values);
    buffer_drop(&starts);
    return result;
}

/* Return a node if the event read ahead is a scalar or a list of numbers without an anchor. Else
 * NULL without an exception; that event, or `next`, is then returned by the next call. */
static PyObject *plain_node(Events *self)
{
    if (!read_event(self, &self->ahead) || anchor_of(&self->ahead))
        return NULL;
    int is_list = self->ahead.type == YAML_SEQUENCE_START_EVENT;
    if (!is_list && self->ahead.type != YAML_SCALAR_EVENT)
        return NULL;
    yaml_event_t event = self->ahead;
    memset(&self->ahead, 0, sizeof self->ahead);
    PyObject *node = is_list ? list_object(self, &event) : scalar_node(self, &event);
    yaml_event_delete(&event);
    if (node && PyTuple_CheckExact(node)) {
        self->next = node;
        return NULL;
    }
    return node;
}

/* A limit, so that a mapping that fills the memory exceeds the caller's limit of events. */
#define MAX_PLAIN 10000

/* Read the plain entries at the beginning of a mapping, at most MAX_PLAIN: scalar keys with a
 * scalar or a list of numbers. Other entries follow with the next calls. */
static PyObject *mapping_tuple(Events *self, const yaml_event_t *mapping)
{
    PyObject *entries = PyDict_New(), *key = NULL, *value = NULL, *result = NULL;
    Py_ssize_t lists = 0;
    while (entries && PyDict_GET_SIZE(entries) < MAX_PLAIN && (key = plain_node(self))) {
        if (!Py_IS_TYPE(key, self->scalar)) { /* a list cannot be a key */
            self->next = key;
            key = NULL;
            break;
        }
        PyObject *text = *(PyObject **)((char *)key + self->slots[TEXT]);
        int special = PyUnicode_CompareWithASCIIString(text, "<<") == 0;
        if (special || PyDict_Contains(entries, text) || !(value = plain_node(self)))
            break;
        lists += !Py_IS_TYPE(value, self->scalar);
        PyObject *entry = PyTuple_Pack(2, key, value);
        if (entry)
            PyDict_SetItem(entries, text, entry);
        Py_XDECREF(entry);
        Py_CLEAR(value);
        Py_CLEAR(key);
        if (PyErr_Occurred())
            break;
    }
    if (!PyErr_Occurred()) {
        int whole = !key && !self->next && self->ahead.type == YAML_MAPPING_END_EVENT;
        const yaml_event_t *last = whole ? &self->ahead : mapping;
        PyObject *content = Py_BuildValue("(OOn)", entries, key ? key : Py_None, lists);
        result = event_tuple(self, whole ? ENTRIES : MAPPING, mapping->start_mark.index,
                             last->end_mark.index, content);
        if (whole)
            yaml_event_delete(&self->ahead);
    }
    Py_XDECREF(entries);
    Py_XDECREF(key);
    return result;
}

static PyObject *object_of(Events *self, const yaml_event_t *event)
{
    size_t start = event->start_mark.index, end = event->end_mark.index;
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return scalar_node(self, event);
    case YAML_SEQUENCE_START_EVENT:
        return list_object(self, event);
    case YAML_MAPPING_START_EVENT:
        return mapping_tuple(self, event);
    case YAML_ALIAS_EVENT:
        return event_tuple(self, ALIAS, start, end, text_of(event->data.alias.anchor));
    case YAML_DOCUMENT_START_EVENT:
        return event_tuple(self, DOCUMENT, start, end, Py_NewRef(Py_None));
    default:
        return event_tuple(self, CLOSE, start, end, Py_NewRef(Py_None));
    }
}

static PyObject *events_next(Events *self)
{
    if (self->next) {
        PyObject *next = self->next;
        self->next = NULL;
        return next;
    }
    while (!self->done) {
        if (self->failed) {
            self->done = 1;
            return raise_syntax_error(self);
        }
        yaml_event_t event = self->ahead;
        memset(&self->ahead, 0, sizeof self->ahead);
        if (event.type == YAML_NO_EVENT && !read_event(self, &event))
            continue;
        const yaml_char_t *anchor = self->named ? NULL : anchor_of(&event);
        self->named = anchor != NULL;
        if (anchor) { /* the node follows with the next call */
            self->ahead = event;
            return event_tuple(self, ANCHOR, event.start_mark.index, event.end_mark.index,
                               text_of(anchor));
        }
        PyObject *result = NULL;
        int skipped = event.type == YAML_STREAM_START_EVENT || event.type == YAML_DOCUMENT_END_EVENT;
        self->done = event.type == YAML_STREAM_END_EVENT || event.type == YAML_NO_EVENT;
        if (!skipped && !self->done)
            result = object_of(self, &event);
        yaml_event_delete(&event);
        if (!skipped)
            return result;
    }
    return NULL;
}

/* Return the offset of a slot in objects of a class; -1 with an exception set. */
static Py_ssize_t slot_offset(PyTypeObject *type, const char *name)
{
    PyObject *slot = PyObject_GetAttrString((PyObject *)type, name);
    if (!slot)
        return -1;
    Py_ssize_t offset = -1;
    PyMemberDef *member =
        Py_IS_TYPE(slot, &PyMemberDescr_Type) ? ((PyMemberDescrObject *)slot)->d_member : NULL;
    if (member && member->type == T_OBJECT_EX)
        offset = member->offset;
    else
        PyErr_Format(PyExc_TypeError, "'%s' is no slot", name);
    Py_DECREF(slot);
    return offset;
}

static PyObject *events_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"text", "shift", "error", "context", "scalar", "sequence", NULL};
    PyObject *text, *error, *context, *scalar, *sequence;
    Py_ssize_t shift, length;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "UnOOO!O", names, &text, &shift, &error,
                                     &context, &PyType_Type, &scalar, &sequence))
        return NULL;
#if PY_VERSION_HEX < 0x030C0000
    if (PyUnicode_READY(text) < 0)
        return NULL;
#endif
    Events *self = (Events *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->error = Py_NewRef(error);
    self->context = Py_NewRef(context);
    self->scalar = (PyTypeObject *)Py_NewRef(scalar);
    self->sequence = Py_NewRef(sequence);
    for (int i = 0; i < SLOTS; i++) {
        if ((self->slots[i] = slot_offset(self->scalar, slot_names[i])) < 0) {
            Py_DECREF(self);
            return NULL;
        }
    }
    const char *data;
    if (PyUnicode_IS_ASCII(text)) { /* its own bytes are UTF-8 */
        self->text = Py_NewRef(text);
        data = (const char *)PyUnicode_1BYTE_DATA(text);
        length = PyUnicode_GET_LENGTH(text);
    } else {
        if (!(self->text = PyUnicode_AsEncodedString(text, "utf-8", "replace"))) {
            Py_DECREF(self);
            return NULL;
        }
        data = PyBytes_AS_STRING(self->text);
        length = PyBytes_GET_SIZE(self->text);
    }
    if (!yaml_parser_initialize(&self->parser)) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    self->ready = 1;
    self->shift = shift;
    self->lists = length + shift <= UINT32_MAX;
    yaml_parser_set_encoding(&self->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&self->parser, (const unsigned char *)data, (size_t)length);
    return (PyObject *)self;
}

static void events_dealloc(Events *self)
{
    PyTypeObject *type = Py_TYPE(self);
    yaml_event_delete(&self->ahead);
    if (self->ready)
        yaml_parser_delete(&self->parser);
    Py_XDECREF(self->text);
    Py_XDECREF(self->error);
    Py_XDECREF(self->context);
    Py_XDECREF(self->scalar);
    Py_XDECREF(self->sequence);
    Py_XDECREF(self->next);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyType_Slot events_slots[] = {
    {Py_tp_doc, "Events(text, shift, error, context, scalar, sequence): events of a YAML text."},
    {Py_tp_new, events_new},
    {Py_tp_dealloc, events_dealloc},
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, events_next},
    {0, NULL},
};

static PyType_Spec events_spec = {
    .name = "hrp_model.readers.yaml._yaml.Events",
    .basicsize = sizeof(Events),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = events_slots,
};

static int add_type(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &events_spec, NULL);
    int status = type ? PyModule_AddType(module, (PyTypeObject *)type) : -1;
    Py_XDECREF(type);
    return status;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, add_type}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "hrp_model.readers.yaml._yaml",
    .m_doc = "Events of libyaml.",
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__yaml(void)
{
    return PyModuleDef_Init(&definition);
}
