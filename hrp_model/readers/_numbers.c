/* Convert lists of numbers in VRML text in one pass, see _numbers.pyi. */
#include "_numbers.h"

/* Skip white space, commas and comments. The text ends with NUL. */
static const char *skip_space(const char *p)
{
    for (;; p++) {
        if (*p == '#') {
            while (*p != '\n' && *p != '\r' && *p)
                p++;
        }
        if (*p != ' ' && *p != ',' && *p != '\n' && *p != '\r' && *p != '\t')
            return p;
    }
}

/* Read [+-]? digits; a value out of range is clipped. Returns as read_number does. */
static const char *read_integer(const char *p, int32_t *value)
{
    const char *start = p, *first;
    int64_t digits = 0;
    int negative = *p == '-';
    p += negative || *p == '+';
    for (first = p; is_digit(*p); p++)
        digits = digits <= INT32_MAX ? digits * 10 + (*p - '0') : digits;
    if (p == first || *p == '.' || *p == 'e' || *p == 'E')
        return start; /* no digits, or a fraction */
    digits = negative ? -digits : digits;
    *value = (int32_t)(digits < INT32_MIN ? INT32_MIN : digits > INT32_MAX ? INT32_MAX : digits);
    return p;
}

/* Convert the numbers up to "]". Returns a pointer to "]"; NULL, with or without an exception, if
 * the text contains anything else. */
static const char *convert(const char *p, int integer, Buffer *into)
{
    for (p = skip_space(p); *p != ']'; p = skip_space(p)) {
        const char *start = p;
        void *place = buffer_take(into, integer ? sizeof(int32_t) : sizeof(double));
        if (!place)
            return NULL;
        p = integer ? read_integer(p, place) : read_number(p, place);
        if (!p || p == start)
            return NULL;
    }
    return p;
}

/* Copy wide characters to single bytes, up to the first "]" outside of comments.
 * Characters other than ASCII become one that is not allowed in lists. */
static char *narrow(PyObject *text, Py_ssize_t start, Py_ssize_t *end)
{
    int kind = PyUnicode_KIND(text), comment = 0;
    const void *data = PyUnicode_DATA(text);
    Py_ssize_t i, length = PyUnicode_GET_LENGTH(text);
    for (i = start; i < length; i++) {
        Py_UCS4 c = PyUnicode_READ(kind, data, i);
        comment = c == '#' || (comment && c != '\n' && c != '\r');
        if ((c == ']' || c > 127) && !comment)
            break;
    }
    *end = i;
    char *copy = PyMem_Malloc((size_t)(i - start) + 2);
    if (!copy)
        return (char *)PyErr_NoMemory();
    for (i = start; i <= *end && i < length; i++) {
        Py_UCS4 c = PyUnicode_READ(kind, data, i);
        copy[i - start] = c > 127 ? '?' : (char)c;
    }
    copy[i - start] = 0;
    return copy;
}

static PyObject *number_list(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *text, *result = NULL, *numbers;
    Py_ssize_t start, end = 0;
    int integer;
    char *copy = NULL;
    if (!PyArg_ParseTuple(args, "Unp", &text, &start, &integer))
        return NULL;
#if PY_VERSION_HEX < 0x030C0000
    if (PyUnicode_READY(text) < 0)
        return NULL;
#endif
    if (start < 0 || start > PyUnicode_GET_LENGTH(text)) {
        PyErr_SetString(PyExc_IndexError, "the list begins outside of the text");
        return NULL;
    }
    const char *first;
    if (PyUnicode_KIND(text) == PyUnicode_1BYTE_KIND)
        first = (const char *)PyUnicode_1BYTE_DATA(text) + start;
    else if (!(first = copy = narrow(text, start, &end)))
        return NULL;
    Buffer buffer = {NULL, 0};
    const char *close = convert(first, integer, &buffer);
    if (close && (numbers = buffer_finish(&buffer)))
        result = Py_BuildValue("Nn", numbers, start + (Py_ssize_t)(close - first));
    else if (!PyErr_Occurred())
        result = Py_NewRef(Py_None);
    buffer_drop(&buffer);
    PyMem_Free(copy);
    return result;
}

static PyMethodDef methods[] = {
    {"number_list", number_list, METH_VARARGS,
     "number_list(text, start, integer): the numbers up to ']', and the offset of that."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "hrp_model.readers._numbers",
    .m_doc = "Lists of numbers in text, converted in one pass.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__numbers(void)
{
    return PyModuleDef_Init(&definition);
}
