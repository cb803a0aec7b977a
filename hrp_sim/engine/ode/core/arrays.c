/* The buffers of numpy's arrays. */
#include "arrays.h"

static const struct {
    const char *name;
    int per_link, width;
} LIVE[LIVE_FIELDS] = {
    [MOTION_P] = {"p", 1, 3},
    [MOTION_R] = {"R", 1, 9},
    [MOTION_V] = {"v", 1, 3},
    [MOTION_W] = {"w", 1, 3},
    [MOTION_A] = {"a", 1, 3},
    [MOTION_ALPHA] = {"alpha", 1, 3},
    [MOTION_FORCE] = {"force", 1, 3},
    [MOTION_TORQUE] = {"torque", 1, 3},
    [MOTION_Q] = {"q", 0, 1},
    [MOTION_DQ] = {"dq", 0, 1},
    [MOTION_EFFORT] = {"effort", 0, 1},
    [MOTION_TRACK_POSITION] = {"track_position", 1, 1},
    [DRIVE_Q] = {"q", 0, 1},
    [DRIVE_DQ] = {"dq", 0, 1},
    [DRIVE_KP] = {"kp", 0, 1},
    [DRIVE_KD] = {"kd", 0, 1},
    [DRIVE_EFFORT] = {"effort", 0, 1},
    [DRIVE_TRACK_SPEED] = {"track_speed", 1, 1},
    [DRIVE_SURFACE_VELOCITY] = {"surface_velocity", 1, 6},
    [WRENCH_FORCE] = {"force", 1, 3},
    [WRENCH_TORQUE] = {"torque", 1, 3},
};

int hrp_array_hold(PyObject *owner, const char *name, char type, Py_ssize_t size, int writable,
                   Py_buffer *view)
{
    PyObject *array = name ? PyObject_GetAttrString(owner, name) : Py_NewRef(owner);
    if (!array)
        return 0;
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    int failed = PyObject_GetBuffer(array, view, flags);
    Py_DECREF(array);
    if (failed)
        return 0;
    Py_ssize_t itemsize = type == 'd' ? (Py_ssize_t)sizeof(double) : (Py_ssize_t)sizeof(int);
    if (!view->format || view->format[0] != type || view->format[1] || view->itemsize != itemsize) {
        PyErr_Format(PyExc_TypeError, "%s must be an array of %s", name ? name : "argument",
                     type == 'd' ? "float64" : "int32");
    } else if (size >= 0 && view->len != size * itemsize) {
        PyErr_Format(PyExc_ValueError, "%s must have %zd elements, got %zd",
                     name ? name : "argument", size, view->len / itemsize);
    } else {
        return 1;
    }
    PyBuffer_Release(view);
    return 0;
}

void hrp_held_release(Held *held)
{
    while (held->count > 0)
        PyBuffer_Release(&held->views[--held->count]);
}

static int column_hold(Flat *flat, PyObject *articulation, FlatField field, Held *held)
{
    const FlatColumn *column = &hrp_flat_columns[field];
    Py_buffer *view = &held->views[held->count];
    PyObject *owner = column->owner ? PyObject_GetAttrString(articulation, column->owner)
                                    : Py_NewRef(articulation);
    if (!owner)
        return 0;
    int good = hrp_array_hold(owner, column->name, column->type,
                              hrp_flat_expected_length(flat, field), 0, view);
    Py_DECREF(owner);
    if (!good)
        return 0;
    held->count++;
    hrp_flat_set(flat, field, view->buf, (long)(view->len / view->itemsize));
    return 1;
}

int hrp_flat_hold(Flat *flat, PyObject *articulation, int materials, Held *held)
{
    char problem[PROBLEM_SIZE] = "";
    *flat = (Flat){.count = {0}};
    for (int field = 0; field < FLAT_FIELDS; field++)
        if (!column_hold(flat, articulation, (FlatField)field, held))
            return 0;
    if (hrp_flat_check(flat, materials, problem))
        return 1;
    PyErr_SetString(PyExc_ValueError, problem);
    return 0;
}

PyObject *hrp_live_hold(Body *body, PyObject *motion, PyObject *drive, PyObject *wrench)
{
    PyObject *views = PyTuple_New(LIVE_FIELDS);
    for (int field = 0; views && field < LIVE_FIELDS; field++) {
        PyObject *owner = field < DRIVE_Q ? motion : field < WRENCH_FORCE ? drive : wrench;
        int is_drive = owner == drive; /* read-only; a reset writes the wrenches */
        int rows = LIVE[field].per_link ? body->links : body->coordinates;
        Py_buffer view;
        PyObject *held = NULL;
        if (hrp_array_hold(owner, LIVE[field].name, 'd', (Py_ssize_t)rows * LIVE[field].width,
                           !is_drive, &view)) {
            held = PyMemoryView_FromObject(view.obj);
            body->live[field] = view.buf;
            PyBuffer_Release(&view);
        }
        if (held)
            PyTuple_SET_ITEM(views, field, held);
        else
            Py_CLEAR(views);
    }
    return views;
}

int hrp_saved_hold(const Body *body, PyObject *owner, int writable, Saved *saved, Held *held)
{
    for (int field = 0; field < SAVED_FIELDS; field++) {
        const SavedColumn *column = &hrp_saved_columns[field];
        Py_buffer *view = &held->views[field];
        Py_ssize_t rows = column->per_group ? body->groups : body->joints;
        if (!hrp_array_hold(owner, column->name, column->type, rows * column->width, writable,
                            view))
            return 0;
        held->count++;
        saved->data[field] = view->buf;
    }
    return 1;
}
