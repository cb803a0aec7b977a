/* Convex hulls of points, by qhull; see _hull.pyi. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <libqhull_r/qhull_ra.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Set the error of a hull that failed; qhull's report begins with a line that names the reason. */
static void set_error(char *report)
{
    report[strcspn(report, "\n")] = '\0';
    PyErr_Format(PyExc_ValueError, "points have no convex hull: %s", report);
}

static double minor(const double *a, const double *b, const double *c, int i, int j)
{
    return (b[i] - a[i]) * (c[j] - a[j]) - (b[j] - a[j]) * (c[i] - a[i]);
}

/* Write the indices of the corners of a facet, in the order in which it faces outward. */
static void write_corners(qhT *qh, const facetT *facet, int32_t *corners)
{
    const double *p[3];
    for (int i = 0; i < 3; i++) {
        p[i] = ((const vertexT *)facet->vertices->e[i].p)->point;
        corners[i] = (int32_t)qh_pointid(qh, (pointT *)p[i]);
    }
    const double facing = minor(p[0], p[1], p[2], 1, 2) * facet->normal[0] +
                          minor(p[0], p[1], p[2], 2, 0) * facet->normal[1] +
                          minor(p[0], p[1], p[2], 0, 1) * facet->normal[2];
    if (facing < 0.0) {
        const int32_t first = corners[0];
        corners[0] = corners[2];
        corners[2] = first;
    }
}

/* Return the corners of all facets, as bytes. */
static PyObject *corners_of_facets(qhT *qh)
{
    const facetT *facet;
    Py_ssize_t count = 0;
    FORALLfacets count++;
    PyObject *result = PyBytes_FromStringAndSize(NULL, count * 3 * (Py_ssize_t)sizeof(int32_t));
    if (!result)
        return NULL;
    int32_t *corners = (int32_t *)PyBytes_AS_STRING(result);
    FORALLfacets {
        write_corners(qh, facet, corners);
        corners += 3;
    }
    return result;
}

static PyObject *facets_of(Py_buffer *points)
{
    static char command[] = "qhull Qt"; /* Qt: facets are triangles */
    char *report = NULL;
    size_t length = 0;
    FILE *errors = open_memstream(&report, &length);
    if (!errors)
        return PyErr_SetFromErrno(PyExc_OSError);
    PyObject *result = NULL;
    qhT qh;
    int status, unfreed, blocks;
    Py_BEGIN_ALLOW_THREADS
    qh_zero(&qh, errors);
    status = qh_new_qhull(&qh, 3, (int)points->shape[0], points->buf, False, command, NULL, errors);
    Py_END_ALLOW_THREADS
    if (!status)
        result = corners_of_facets(&qh);
    qh_freeqhull(&qh, !qh_ALL);
    qh_memfreeshort(&qh, &unfreed, &blocks);
    fclose(errors);
    if (status)
        set_error(report);
    free(report);
    return result;
}

static PyObject *facets(PyObject *module, PyObject *array)
{
    (void)module;
    Py_buffer points;
    if (PyObject_GetBuffer(array, &points, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT))
        return NULL;
    PyObject *result = NULL;
    if (points.ndim != 2 || points.shape[1] != 3 || points.shape[0] > INT32_MAX || strcmp(points.format, "d"))
        PyErr_SetString(PyExc_ValueError, "points must be an array of float64, shape (n, 3)");
    else
        result = facets_of(&points);
    PyBuffer_Release(&points);
    return result;
}

static PyMethodDef functions[] = {
    {"facets", facets, METH_O, "facets(points): return the triangles of the convex hull, as bytes."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "hrp_model.collision._hull",
    .m_doc = "Convex hulls of points.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__hull(void) { return PyModule_Create(&definition); }
