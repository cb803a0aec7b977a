/* The events of libyaml as tuples, and whole lists of numbers as one event. See yaml_events.py. */
#include "_numbers.h"

#include <math.h>
#include <yaml.h>

/* As in yaml_events.py. */
enum { SCALAR, NUMBERS, ALIAS, LIST, MAPPING, CLOSE, DOCUMENT };

typedef struct {
    PyObject_HEAD
    PyObject *text;  /* keeps alive what the parser reads */
    PyObject *error; /* makes the exception for a syntax error */
    Py_ssize_t shift;
    yaml_parser_t parser;
    yaml_event_t ahead; /* an event read already, if its type is not YAML_NO_EVENT */
    int lists;          /* whether offsets fit those of NUMBERS */
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

/* Read the next event. Returns 0 after a syntax error, which is raised by the next call. */
static int read_event(Events *self, yaml_event_t *event)
{
    self->failed = !yaml_parser_parse(&self->parser, event);
    return !self->failed;
}

static PyObject *text_or_none(const yaml_char_t *text)
{
    return text ? PyUnicode_FromString((const char *)text) : Py_NewRef(Py_None);
}

/* Return (kind, start, end, content, anchor, plain); takes the reference to `content`. */
static PyObject *event_tuple(Events *self, int kind, size_t start, size_t end, PyObject *content,
                             const yaml_char_t *anchor, int plain)
{
    PyObject *name = content ? text_or_none(anchor) : NULL;
    if (!name) {
        Py_XDECREF(content);
        return NULL;
    }
    return Py_BuildValue("(innNNO)", kind, (Py_ssize_t)start + self->shift,
                         (Py_ssize_t)end + self->shift, content, name,
                         plain ? Py_True : Py_False);
}

static PyObject *scalar_tuple(Events *self, const yaml_event_t *event)
{
    PyObject *text = PyUnicode_DecodeUTF8((const char *)event->data.scalar.value,
                                          (Py_ssize_t)event->data.scalar.length, "strict");
    return event_tuple(self, SCALAR, event->start_mark.index, event->end_mark.index, text,
                       event->data.scalar.anchor, event->data.scalar.plain_implicit);
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

/* Take the numbers that a list begins with. If they are all it holds it becomes one event,
 * else what follows them comes with the next calls. */
static PyObject *list_tuple(Events *self, const yaml_event_t *list)
{
    Buffer values = {NULL, 0}, starts = {NULL, 0};
    PyObject *result = NULL, *content = NULL, *first = NULL;
    int added = self->lists;
    while (added > 0) {
        if (!read_event(self, &self->ahead))
            break;
        added = add_number(self, &self->ahead, &values, &starts);
        if (added > 0)
            yaml_event_delete(&self->ahead);
    }
    if (added < 0)
        goto end;
    size_t list_end = list->end_mark.index;
    int kind = LIST;
    if (!(first = buffer_finish(&starts)))
        goto end;
    if (self->ahead.type == YAML_SEQUENCE_END_EVENT) {
        kind = NUMBERS;
        list_end = self->ahead.end_mark.index;
        yaml_event_delete(&self->ahead);
        PyObject *numbers = buffer_finish(&values);
        content = numbers ? Py_BuildValue("(NO)", numbers, first) : NULL;
    } else
        content = Py_NewRef(first);
    result = event_tuple(self, kind, list->start_mark.index, list_end, content,
                         list->data.sequence_start.anchor, 0);
end:
    Py_XDECREF(first);
    buffer_drop(&values);
    buffer_drop(&starts);
    return result;
}

static PyObject *tuple_of(Events *self, const yaml_event_t *event)
{
    size_t start = event->start_mark.index, end = event->end_mark.index;
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return scalar_tuple(self, event);
    case YAML_SEQUENCE_START_EVENT:
        return list_tuple(self, event);
    case YAML_MAPPING_START_EVENT:
        return event_tuple(self, MAPPING, start, end, Py_NewRef(Py_None),
                           event->data.mapping_start.anchor, 0);
    case YAML_ALIAS_EVENT:
        return event_tuple(self, ALIAS, start, end, text_or_none(event->data.alias.anchor), NULL,
                           0);
    case YAML_DOCUMENT_START_EVENT:
        return event_tuple(self, DOCUMENT, start, end, Py_NewRef(Py_None), NULL, 0);
    default:
        return event_tuple(self, CLOSE, start, end, Py_NewRef(Py_None), NULL, 0);
    }
}

static PyObject *events_next(Events *self)
{
    while (!self->done) {
        if (self->failed) {
            self->done = 1;
            return raise_syntax_error(self);
        }
        yaml_event_t event = self->ahead;
        memset(&self->ahead, 0, sizeof self->ahead);
        if (event.type == YAML_NO_EVENT && !read_event(self, &event))
            continue;
        PyObject *result = NULL;
        int skipped = event.type == YAML_STREAM_START_EVENT || event.type == YAML_DOCUMENT_END_EVENT;
        self->done = event.type == YAML_STREAM_END_EVENT || event.type == YAML_NO_EVENT;
        if (!skipped && !self->done)
            result = tuple_of(self, &event);
        yaml_event_delete(&event);
        if (!skipped)
            return result;
    }
    return NULL;
}

static PyObject *events_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"text", "shift", "error", NULL};
    PyObject *text, *error;
    Py_ssize_t shift, length;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "UnO", names, &text, &shift, &error))
        return NULL;
#if PY_VERSION_HEX < 0x030C0000
    if (PyUnicode_READY(text) < 0)
        return NULL;
#endif
    Events *self = (Events *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->error = Py_NewRef(error);
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
    type->tp_free(self);
    Py_DECREF(type);
}

static PyType_Slot events_slots[] = {
    {Py_tp_doc, "Events(text, shift, error): the events of a YAML text, one tuple each."},
    {Py_tp_new, events_new},
    {Py_tp_dealloc, events_dealloc},
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, events_next},
    {0, NULL},
};

static PyType_Spec events_spec = {
    .name = "hrp_model._yaml.Events",
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
    .m_name = "hrp_model._yaml",
    .m_doc = "Events of libyaml, as plain tuples.",
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__yaml(void)
{
    return PyModuleDef_Init(&definition);
}
