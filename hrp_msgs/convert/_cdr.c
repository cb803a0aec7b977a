/* Copies of a serialized message with other numbers, and a test of such numbers. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "numbers are copied as they are in memory, and messages are little-endian"
#endif

#define NS_PER_S 1000000000LL

/* Numbers of a layout that are left, and the message that it describes. */
typedef struct {
    const int64_t *next, *end;
    char *data;
    Py_ssize_t length;
} Layout;

static int64_t take(Layout *layout)
{
    return layout->next < layout->end ? *layout->next++ : -1;
}

/* Return so many bytes at the place that comes next; NULL with an error if it is outside. */
static char *take_place(Layout *layout, int64_t bytes)
{
    int64_t begin = take(layout);
    if (begin < 0 || bytes < 0 || bytes > layout->length || begin > layout->length - bytes) {
        PyErr_SetString(PyExc_ValueError, "a place is outside the message");
        return NULL;
    }
    return layout->data + begin;
}

static int set_stamp(char *to, int64_t time_ns)
{
    int64_t second = time_ns / NS_PER_S - (time_ns % NS_PER_S < 0);
    int32_t sec = (int32_t)second;
    uint32_t nanosec = (uint32_t)(time_ns - second * NS_PER_S);
    if (sec != second) {
        PyErr_Format(PyExc_OverflowError, "a stamp cannot hold %lld s", (long long)second);
        return -1;
    }
    memcpy(to, &sec, sizeof sec);
    memcpy(to + sizeof sec, &nanosec, sizeof nanosec);
    return 0;
}

static void copy_narrowed(char *to, const char *numbers, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        double number;
        memcpy(&number, numbers + k * (int64_t)sizeof number, sizeof number);
        float narrow = (float)number;
        memcpy(to + k * (int64_t)sizeof narrow, &narrow, sizeof narrow);
    }
}

static int wrong_count(const char *which)
{
    PyErr_Format(PyExc_ValueError, "there are too %s numbers for a field", which);
    return -1;
}

/* Fill a field from memory with numbers of its type, or float64 for float32, as which bytes are read;
 * return 0 if that has others, -1 with an error. */
static int fill_from_memory(Layout *layout, char code, int64_t places, PyObject *value)
{
    Py_buffer view = {.buf = NULL};
    if (PyBytes_Check(value) && (code == 'd' || code == 'f')) {
        view.buf = PyBytes_AS_STRING(value);
        view.len = PyBytes_GET_SIZE(value);
        view.itemsize = sizeof(double);
        view.format = "d";
    } else if (!PyObject_CheckBuffer(value)) {
        return 0;
    } else if (PyObject_GetBuffer(value, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)) {
        PyErr_Clear();
        return 0;
    }
    char type = view.format && view.format[0] && !view.format[1] ? view.format[0] : 0;
    if (view.itemsize == sizeof(int64_t)) /* numpy calls these "long" */
        type = type == 'l' ? 'q' : type == 'L' ? 'Q' : type;
    int is_narrowed = code == 'f' && type == 'd';
    int64_t size = is_narrowed ? (int64_t)sizeof(float) : view.itemsize;
    const char *numbers = view.buf, *end = numbers + view.len;
    int outcome = is_narrowed || type == code;
    for (; outcome > 0 && places > 0; places--) {
        int64_t count = take(layout);
        char *to = take_place(layout, count * size);
        if (!to) {
            outcome = -1;
        } else if (count > (end - numbers) / view.itemsize) {
            outcome = wrong_count("few");
        } else {
            if (is_narrowed)
                copy_narrowed(to, numbers, count);
            else
                memcpy(to, numbers, (size_t)(count * size));
            numbers += count * view.itemsize;
        }
    }
    if (outcome > 0 && numbers != end)
        outcome = wrong_count("many");
    PyBuffer_Release(&view);
    return outcome;
}

/* Fill a field with floating-point numbers one by one. */
static int fill_one_by_one(Layout *layout, char code, int64_t places, PyObject *value)
{
    if (code != 'd' && code != 'f') {
        PyErr_Format(PyExc_TypeError, "a field of type '%c' needs an array of that type", code);
        return -1;
    }
    PyObject *numbers = PySequence_Fast(value, "the value of a field must be numbers");
    if (!numbers)
        return -1;
    int64_t size = code == 'd' ? (int64_t)sizeof(double) : (int64_t)sizeof(float);
    Py_ssize_t next = 0, end = PySequence_Fast_GET_SIZE(numbers);
    for (; places > 0 && !PyErr_Occurred(); places--) {
        int64_t count = take(layout);
        char *to = take_place(layout, count * size);
        if (to && count > end - next)
            wrong_count("few");
        for (; count > 0 && !PyErr_Occurred(); count--, to += size) {
            double number = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(numbers, next++));
            float narrow = (float)number;
            memcpy(to, code == 'd' ? (void *)&number : (void *)&narrow, (size_t)size);
        }
    }
    if (next != end && !PyErr_Occurred())
        wrong_count("many");
    Py_DECREF(numbers);
    return PyErr_Occurred() ? -1 : 1;
}

static int fill_all(Layout *layout, PyObject *const *values, Py_ssize_t count)
{
    int64_t time_ns = PyLong_AsLongLong(values[0]);
    if (time_ns == -1 && PyErr_Occurred())
        return -1;
    for (int64_t stamps = take(layout); stamps > 0; stamps--) {
        char *to = take_place(layout, 8);
        if (!to || set_stamp(to, time_ns))
            return -1;
    }
    Py_ssize_t k = 1;
    for (; k < count && layout->next < layout->end; k++) {
        char code = (char)take(layout);
        int64_t places = take(layout);
        int outcome = fill_from_memory(layout, code, places, values[k]);
        if (outcome < 0 || (!outcome && fill_one_by_one(layout, code, places, values[k]) < 0))
            return -1;
    }
    if (k < count || layout->next < layout->end) {
        PyErr_SetString(PyExc_TypeError, "a time and a value for each field are needed");
        return -1;
    }
    return 0;
}

static PyObject *fill(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Py_buffer template;
    if (count < 3 || !PyBytes_Check(arguments[1]))
        return PyErr_Format(PyExc_TypeError, "a message, its layout and a time are needed");
    if (PyObject_GetBuffer(arguments[0], &template, PyBUF_SIMPLE))
        return NULL;
    PyObject *message = PyBytes_FromStringAndSize(template.buf, template.len);
    PyBuffer_Release(&template);
    if (!message)
        return NULL;
    const int64_t *first = (const int64_t *)(const void *)PyBytes_AS_STRING(arguments[1]);
    Layout layout = {
        .next = first,
        .end = first + PyBytes_GET_SIZE(arguments[1]) / (Py_ssize_t)sizeof *first,
        .data = PyBytes_AS_STRING(message),
        .length = PyBytes_GET_SIZE(message),
    };
    if (fill_all(&layout, arguments + 2, count - 2))
        Py_CLEAR(message);
    return message;
}

/* Return whether one of the first numbers is at or beyond the bounds of its place; NaN is not. */
static PyObject *any_beyond(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *numbers, *lowest, *highest;
    if (!PyArg_ParseTuple(arguments, "SSS", &numbers, &lowest, &highest))
        return NULL;
    Py_ssize_t length = PyBytes_GET_SIZE(lowest);
    if (length != PyBytes_GET_SIZE(highest) || length > PyBytes_GET_SIZE(numbers) ||
        length % (Py_ssize_t)sizeof(double))
        return PyErr_Format(PyExc_ValueError, "each number needs two bounds");
    for (Py_ssize_t place = 0; place < length; place += (Py_ssize_t)sizeof(double)) {
        double number, least, most;
        memcpy(&number, PyBytes_AS_STRING(numbers) + place, sizeof number);
        memcpy(&least, PyBytes_AS_STRING(lowest) + place, sizeof least);
        memcpy(&most, PyBytes_AS_STRING(highest) + place, sizeof most);
        if (number <= least || number >= most)
            Py_RETURN_TRUE;
    }
    Py_RETURN_FALSE;
}

static PyMethodDef methods[] = {
    {"any_beyond", any_beyond, METH_VARARGS, NULL},
    {"fill", (PyCFunction)(void (*)(void))fill, METH_FASTCALL, NULL},
    {0},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "hrp_msgs.convert._cdr",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__cdr(void)
{
    return PyModule_Create(&module);
}
