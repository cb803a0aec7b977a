/* What small sensors measure, computed from the arrays of a BodyMotion; see _probe.pyi.
 *
 * The buffers of the arrays are held from one measurement to the next: to get them takes longer than
 * to compute. No C library of numpy is needed for this.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string.h>

enum { WRENCH_ON_LINK, WRENCH_ON_PARENT, INERTIAL, ROOT, KINDS };
static const int VECTORS[KINDS] = {
    [WRENCH_ON_LINK] = 2, [WRENCH_ON_PARENT] = 2, [INERTIAL] = 2, [ROOT] = 3,
};

enum { P, R, V, W, A, ALPHA, FORCE, TORQUE, FIELDS };
static const struct { const char *name; int width; } FIELD[FIELDS] = {
    [P] = {"p", 3}, [R] = {"R", 9}, [V] = {"v", 3}, [W] = {"w", 3},
    [A] = {"a", 3}, [ALPHA] = {"alpha", 3}, [FORCE] = {"force", 3}, [TORQUE] = {"torque", 3},
};

typedef struct {
    PyObject_HEAD
    int kind, is_turned; /* is_turned: whether R_LS is not the identity */
    Py_ssize_t link;
    double R_LS[9], p_LS[3], g_W[3], limits[2][3];
    PyObject *motion;    /* whose buffers are held, or NULL */
    Py_buffer views[FIELDS];
    int held;
} Probe;

/* Hold the buffer of contiguous float64 numbers, at least count of them. */
static int view_get(PyObject *array, Py_ssize_t count, const char *name, Py_buffer *view)
{
    if (PyObject_GetBuffer(array, view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT))
        return -1;
    if (view->format && !strcmp(view->format, "d") && view->len >= count * (Py_ssize_t)sizeof(double))
        return 0;
    PyErr_Format(PyExc_ValueError, "%s must be an array of at least %zd float64", name, count);
    PyBuffer_Release(view);
    return -1;
}

static int copy_numbers(PyObject *array, Py_ssize_t count, const char *name, double *into)
{
    Py_buffer view;
    if (view_get(array, count, name, &view))
        return -1;
    memcpy(into, view.buf, (size_t)count * sizeof(double));
    PyBuffer_Release(&view);
    return 0;
}

static void detach(Probe *probe)
{
    while (probe->held > 0)
        PyBuffer_Release(&probe->views[--probe->held]);
    Py_CLEAR(probe->motion);
}

/* Hold the arrays of a motion. */
static int attach(Probe *probe, PyObject *motion)
{
    detach(probe);
    for (; probe->held < FIELDS; probe->held++) {
        const char *name = FIELD[probe->held].name;
        PyObject *array = PyObject_GetAttrString(motion, name);
        if (!array)
            return -1;
        Py_ssize_t count = (probe->link + 1) * FIELD[probe->held].width;
        int failed = view_get(array, count, name, &probe->views[probe->held]);
        Py_DECREF(array);
        if (failed)
            return -1;
    }
    probe->motion = Py_NewRef(motion);
    return 0;
}

/* Return a field of the probe's link. */
static const double *field(const Probe *probe, int name)
{
    return (const double *)probe->views[name].buf + FIELD[name].width * probe->link;
}

/* Return R^T v, which expresses a vector of W in S, by R_WS. */
static void rotate_inverse(double out[3], const double R_WS[9], const double v[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = R_WS[i] * v[0] + R_WS[3 + i] * v[1] + R_WS[6 + i] * v[2];
}

/* Express a vector of L in S, and clip it; NaN stays NaN. */
static void write_vector(const Probe *probe, int number, const double v_L[3], double out[3])
{
    const double *limit = probe->limits[number];
    if (probe->is_turned)
        rotate_inverse(out, probe->R_LS, v_L);
    else
        memcpy(out, v_L, 3 * sizeof *out);
    for (int i = 0; i < 3; i++)
        out[i] = out[i] < -limit[i] ? -limit[i] : out[i] > limit[i] ? limit[i] : out[i];
}

/* Force and torque in S, about its origin. */
static void measure_wrench(const Probe *probe, double out[6])
{
    const double *R_WL = field(probe, R), *p = probe->p_LS;
    double f[3], t[3];
    rotate_inverse(f, R_WL, field(probe, FORCE));
    rotate_inverse(t, R_WL, field(probe, TORQUE));
    for (int i = 0; i < 3; i++) { /* torque about S = torque about L - p_LS x force */
        int j = (i + 1) % 3, k = (i + 2) % 3;
        t[i] = t[i] - p[j] * f[k] + p[k] * f[j];
    }
    for (int i = 0; probe->kind == WRENCH_ON_PARENT && i < 3; i++) {
        f[i] = -f[i];
        t[i] = -t[i];
    }
    write_vector(probe, 0, f, out);
    write_vector(probe, 1, t, out + 3);
}

/* Angular velocity and specific force at the origin of S, in S. */
static void measure_inertial(const Probe *probe, double out[6])
{
    const double *R_WL = field(probe, R), *a = field(probe, A), *g = probe->g_W, *r = probe->p_LS;
    const double a_W[3] = {a[0] - g[0], a[1] - g[1], a[2] - g[2]};
    double w[3], alpha[3], f[3];
    rotate_inverse(w, R_WL, field(probe, W));
    rotate_inverse(alpha, R_WL, field(probe, ALPHA));
    rotate_inverse(f, R_WL, a_W);
    /* f + alpha x r + w x (w x r), where w x (w x r) = w (w . r) - r (w . w) */
    double along = w[0] * r[0] + w[1] * r[1] + w[2] * r[2];
    double square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        f[i] = f[i] + alpha[j] * r[k] - alpha[k] * r[j] + w[i] * along - r[i] * square;
    }
    write_vector(probe, 0, w, out);
    write_vector(probe, 1, f, out + 3);
}

/* Position in W, velocity and angular velocity in L. */
static void measure_root(const Probe *probe, double out[9])
{
    memcpy(out, field(probe, P), 3 * sizeof *out);
    rotate_inverse(out + 3, field(probe, R), field(probe, V));
    rotate_inverse(out + 6, field(probe, R), field(probe, W));
}

static PyTypeObject probe_type;

/* Return 0 if these are probes and motions that they can hold, or -1 with an exception set. */
static int check_probes(PyObject *probes, PyObject *motions)
{
    Py_ssize_t count = PyTuple_GET_SIZE(probes);
    if (PyTuple_GET_SIZE(motions) != count) {
        PyErr_SetString(PyExc_ValueError, "each probe needs a motion");
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!PyObject_TypeCheck(PyTuple_GET_ITEM(probes, i), &probe_type)) {
            PyErr_SetString(PyExc_TypeError, "expected probes");
            return -1;
        }
        Probe *probe = (Probe *)PyTuple_GET_ITEM(probes, i);
        PyObject *motion = PyTuple_GET_ITEM(motions, i);
        if (probe->motion != motion && attach(probe, motion))
            return -1;
    }
    return 0;
}

static PyObject *measure(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *probes, *motions;
    if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &probes, &PyTuple_Type, &motions) ||
        check_probes(probes, motions))
        return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(probes);
    PyObject *measured = PyTuple_New(count);
    for (Py_ssize_t i = 0; measured && i < count; i++) {
        const Probe *probe = (const Probe *)PyTuple_GET_ITEM(probes, i);
        double out[9];
        Py_ssize_t size = VECTORS[probe->kind] * 3 * (Py_ssize_t)sizeof *out;
        if (probe->kind == INERTIAL)
            measure_inertial(probe, out);
        else if (probe->kind == ROOT)
            measure_root(probe, out);
        else
            measure_wrench(probe, out);
        PyObject *numbers = PyBytes_FromStringAndSize((const char *)out, size);
        if (numbers)
            PyTuple_SET_ITEM(measured, i, numbers);
        else
            Py_CLEAR(measured);
    }
    return measured;
}

static PyObject *probe_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"kind", "link", "R_LS", "p_LS", "g_W", "limits", NULL};
    static const double identity[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
    PyObject *R_LS, *p_LS, *g_W, *limits;
    int kind;
    Py_ssize_t link;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "inOOOO", names, &kind, &link, &R_LS, &p_LS,
                                     &g_W, &limits))
        return NULL;
    if (kind < 0 || kind >= KINDS || link < 0 || link > 1000000)
        return PyErr_Format(PyExc_ValueError, "there is no such kind of probe, or no such link");
    Probe *probe = (Probe *)type->tp_alloc(type, 0);
    if (!probe)
        return NULL;
    probe->kind = kind;
    probe->link = link;
    if (copy_numbers(R_LS, 9, "R_LS", probe->R_LS) || copy_numbers(p_LS, 3, "p_LS", probe->p_LS) ||
        copy_numbers(g_W, 3, "g_W", probe->g_W) ||
        copy_numbers(limits, 6, "limits", probe->limits[0])) {
        Py_DECREF(probe);
        return NULL;
    }
    for (int i = 0; i < 9; i++)
        probe->is_turned |= probe->R_LS[i] != identity[i];
    return (PyObject *)probe;
}

static void probe_dealloc(Probe *probe)
{
    detach(probe);
    Py_TYPE(probe)->tp_free((PyObject *)probe);
}

static PyTypeObject probe_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hrp_sim.sensors._probe.Probe",
    .tp_doc = "Measures a few vectors at a link.",
    .tp_basicsize = sizeof(Probe),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = probe_new,
    .tp_dealloc = (destructor)probe_dealloc,
};

static PyMethodDef functions[] = {
    {"measure", measure, METH_VARARGS,
     "measure(probes, motions): return the vectors of each probe on its motion, as bytes."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "hrp_sim.sensors._probe",
    .m_doc = "What small sensors measure, computed from the arrays of a BodyMotion.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__probe(void)
{
    if (PyType_Ready(&probe_type))
        return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (!module || PyModule_AddObjectRef(module, "Probe", (PyObject *)&probe_type) ||
        PyModule_AddIntConstant(module, "WRENCH_ON_LINK", WRENCH_ON_LINK) ||
        PyModule_AddIntConstant(module, "WRENCH_ON_PARENT", WRENCH_ON_PARENT) ||
        PyModule_AddIntConstant(module, "INERTIAL", INERTIAL) ||
        PyModule_AddIntConstant(module, "ROOT", ROOT)) {
        Py_XDECREF(module);
        return NULL;
    }
    return module;
}
