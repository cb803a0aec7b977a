/* Numpy arrays to C: checks their types, sizes, indices and values. */
#include "_core.h"

#include <math.h>

#define MAX_VALUE 1e30 /* of any number of a body, in SI units */

typedef struct {
    const char *owner, *name;
    char type;
    int width;
    Per per;
} Field;

static const Field FLAT[FLAT_FIELDS] = {
    [LINK_GROUP] = {"links", "group", 'i', 1, PER_LINK},
    [LINK_R] = {"links", "R", 'd', 9, PER_LINK},
    [LINK_P] = {"links", "p", 'd', 3, PER_LINK},
    [LINK_TRACK_AXIS] = {"links", "track_axis", 'd', 3, PER_LINK},
    [LINK_WATCHED] = {"links", "watched", 'i', 1, PER_LINK},
    [GROUP_MASS] = {"groups", "mass", 'd', 1, PER_GROUP},
    [GROUP_INERTIA] = {"groups", "inertia", 'd', 9, PER_GROUP},
    [GROUP_LIFT] = {"groups", "lift", 'd', 4, PER_GROUP},
    [GROUP_ZERO_R] = {"groups", "zero_R", 'd', 9, PER_GROUP},
    [GROUP_ZERO_P] = {"groups", "zero_p", 'd', 3, PER_GROUP},
    [GROUP_R] = {"groups", "R", 'd', 9, PER_GROUP},
    [GROUP_P] = {"groups", "p", 'd', 3, PER_GROUP},
    [GROUP_V] = {"groups", "v", 'd', 3, PER_GROUP},
    [GROUP_W] = {"groups", "w", 'd', 3, PER_GROUP},
    [JOINT_KIND] = {"joints", "kind", 'i', 1, PER_JOINT},
    [JOINT_LINK] = {"joints", "link", 'i', 1, PER_JOINT},
    [JOINT_COORDINATE] = {"joints", "coordinate", 'i', 1, PER_JOINT},
    [JOINT_CHILD] = {"joints", "child", 'i', 1, PER_JOINT},
    [JOINT_PARENT] = {"joints", "parent", 'i', 1, PER_JOINT},
    [JOINT_ANCHOR] = {"joints", "anchor", 'd', 3, PER_JOINT},
    [JOINT_AXIS] = {"joints", "axis", 'd', 3, PER_JOINT},
    [JOINT_LOWER] = {"joints", "lower", 'd', 1, PER_JOINT},
    [JOINT_UPPER] = {"joints", "upper", 'd', 1, PER_JOINT},
    [JOINT_EFFORT_LOWER] = {"joints", "effort_lower", 'd', 1, PER_JOINT},
    [JOINT_EFFORT_UPPER] = {"joints", "effort_upper", 'd', 1, PER_JOINT},
    [JOINT_ROTOR_INERTIA] = {"joints", "rotor_inertia", 'd', 1, PER_JOINT},
    [JOINT_DAMPING] = {"joints", "damping", 'd', 1, PER_JOINT},
    [JOINT_FRICTION] = {"joints", "friction", 'd', 1, PER_JOINT},
    [JOINT_STIFFNESS] = {"joints", "stiffness", 'd', 1, PER_JOINT},
    [JOINT_REST] = {"joints", "rest", 'd', 1, PER_JOINT},
    [LOOP_KIND] = {"loops", "kind", 'i', 1, PER_LOOP},
    [LOOP_A] = {"loops", "a", 'i', 1, PER_LOOP},
    [LOOP_B] = {"loops", "b", 'i', 1, PER_LOOP},
    [LOOP_R_A] = {"loops", "R_a", 'd', 9, PER_LOOP},
    [LOOP_P_A] = {"loops", "p_a", 'd', 3, PER_LOOP},
    [LOOP_R_B] = {"loops", "R_b", 'd', 9, PER_LOOP},
    [LOOP_P_B] = {"loops", "p_b", 'd', 3, PER_LOOP},
    [LOOP_AXIS] = {"loops", "axis", 'd', 3, PER_LOOP},
    [GEAR_FOLLOWER] = {"gears", "follower", 'i', 1, PER_GEAR},
    [GEAR_LEADER] = {"gears", "leader", 'i', 1, PER_GEAR},
    [GEAR_RATIO] = {"gears", "ratio", 'd', 1, PER_GEAR},
    [GEAR_OFFSET] = {"gears", "offset", 'd', 1, PER_GEAR},
    [GEOM_KIND] = {"geoms", "kind", 'i', 1, PER_GEOM},
    [GEOM_LINK] = {"geoms", "link", 'i', 1, PER_GEOM},
    [GEOM_SIZE] = {"geoms", "size", 'd', 3, PER_GEOM},
    [GEOM_R] = {"geoms", "R", 'd', 9, PER_GEOM},
    [GEOM_P] = {"geoms", "p", 'd', 3, PER_GEOM},
    [GEOM_MATERIAL] = {"geoms", "material", 'i', 1, PER_GEOM},
    [GEOM_SURFACE] = {"geoms", "surface", 'd', SURFACE_NUMBERS, PER_GEOM},
    [GEOM_FIRST_VERTEX] = {"geoms", "first_vertex", 'i', 1, PER_GEOM_AND_END},
    [GEOM_FIRST_TRIANGLE] = {"geoms", "first_triangle", 'i', 1, PER_GEOM_AND_END},
    [VERTICES] = {"geoms", "vertices", 'd', 3, PER_VERTEX},
    [TRIANGLES] = {"geoms", "triangles", 'i', 3, PER_TRIANGLE},
    [CONTACTS] = {NULL, "contacts", 'i', 1, PER_PAIR},
    [START_Q] = {NULL, "q", 'd', 1, PER_COORDINATE},
    [START_DQ] = {NULL, "dq", 'd', 1, PER_COORDINATE},
};

/* The field whose length determines each count; the others must agree. */
static const FlatField FIRST[] = {
    [PER_LINK] = LINK_GROUP, [PER_GROUP] = GROUP_MASS, [PER_JOINT] = JOINT_KIND,
    [PER_LOOP] = LOOP_KIND,  [PER_GEAR] = GEAR_FOLLOWER, [PER_GEOM] = GEOM_KIND,
    [PER_COORDINATE] = START_Q, [PER_VERTEX] = VERTICES, [PER_TRIANGLE] = TRIANGLES,
};

static const struct { const char *name; int per_link, width; } LIVE[LIVE_FIELDS] = {
    [MOTION_P] = {"p", 1, 3},           [MOTION_R] = {"R", 1, 9},
    [MOTION_V] = {"v", 1, 3},           [MOTION_W] = {"w", 1, 3},
    [MOTION_A] = {"a", 1, 3},           [MOTION_ALPHA] = {"alpha", 1, 3},
    [MOTION_FORCE] = {"force", 1, 3},   [MOTION_TORQUE] = {"torque", 1, 3},
    [MOTION_Q] = {"q", 0, 1},           [MOTION_DQ] = {"dq", 0, 1},
    [MOTION_EFFORT] = {"effort", 0, 1}, [MOTION_TRACK_POSITION] = {"track_position", 1, 1},
    [DRIVE_Q] = {"q", 0, 1},            [DRIVE_DQ] = {"dq", 0, 1},
    [DRIVE_KP] = {"kp", 0, 1},          [DRIVE_KD] = {"kd", 0, 1},
    [DRIVE_EFFORT] = {"effort", 0, 1},  [DRIVE_TRACK_SPEED] = {"track_speed", 1, 1},
    [DRIVE_SURFACE_VELOCITY] = {"surface_velocity", 1, 6},
    [WRENCH_FORCE] = {"force", 1, 3},   [WRENCH_TORQUE] = {"torque", 1, 3},
};

/* Hold the buffer of owner.name: contiguous, of type 'd' or 'i', of size elements (-1: any). */
int fetch_array(PyObject *owner, const char *name, char type, Py_ssize_t size, int writable,
                Py_buffer *view)
{
    PyObject *array = name ? PyObject_GetAttrString(owner, name) : Py_NewRef(owner);
    if (!array)
        return -1;
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    int failed = PyObject_GetBuffer(array, view, flags);
    Py_DECREF(array);
    if (failed)
        return -1;
    Py_ssize_t itemsize = type == 'd' ? (Py_ssize_t)sizeof(double) : (Py_ssize_t)sizeof(int);
    if (!view->format || view->format[0] != type || view->format[1] || view->itemsize != itemsize) {
        PyErr_Format(PyExc_TypeError, "%s must be an array of %s", name ? name : "argument",
                     type == 'd' ? "float64" : "int32");
    } else if (size >= 0 && view->len != size * itemsize) {
        PyErr_Format(PyExc_ValueError, "%s must have %zd elements, got %zd",
                     name ? name : "argument", size, view->len / itemsize);
    } else {
        return 0;
    }
    PyBuffer_Release(view);
    return -1;
}

static int fetch_flat_field(Flat *flat, PyObject *articulation, int field, Py_ssize_t size)
{
    const Field *f = &FLAT[field];
    PyObject *owner =
        f->owner ? PyObject_GetAttrString(articulation, f->owner) : Py_NewRef(articulation);
    if (!owner)
        return -1;
    int failed = fetch_array(owner, f->name, f->type, size, 0, &flat->views[field]);
    Py_DECREF(owner);
    return failed;
}

static int indices_in_range(const Flat *flat, FlatField field, int lowest, Py_ssize_t end)
{
    const int *values = flat_ints(flat, field);
    Py_ssize_t count = flat->views[field].len / (Py_ssize_t)sizeof(int);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (values[i] < lowest || values[i] >= end) {
            PyErr_Format(PyExc_ValueError, "%s.%s[%zd] = %d is out of range", FLAT[field].owner,
                         FLAT[field].name, i, values[i]);
            return 0;
        }
    }
    return 1;
}

/* Mesh offsets must increase from 0 to the number of rows; triangles must index own vertices. */
static int meshes_in_range(const Flat *flat)
{
    const int *v = flat_ints(flat, GEOM_FIRST_VERTEX), *t = flat_ints(flat, GEOM_FIRST_TRIANGLE);
    const int *triangles = flat_ints(flat, TRIANGLES);
    Py_ssize_t count = flat->count[PER_GEOM];
    int good = v[0] == 0 && t[0] == 0 && v[count] == flat->count[PER_VERTEX] &&
               t[count] == flat->count[PER_TRIANGLE];
    for (Py_ssize_t k = 0; good && k < count; k++)
        good = v[k] <= v[k + 1] && t[k] <= t[k + 1];
    for (Py_ssize_t k = 0; good && k < count; k++)
        for (int i = 3 * t[k]; good && i < 3 * t[k + 1]; i++)
            good = triangles[i] >= 0 && triangles[i] < v[k + 1] - v[k];
    if (!good)
        PyErr_SetString(PyExc_ValueError, "the meshes of geoms are inconsistent");
    return good;
}

/* Whether joints and extra joints connect two different groups, or a group and the world, and
 * whether moving joints have a coordinate. */
static int joint_ends_in_range(const Flat *flat)
{
    for (Py_ssize_t j = 0; j < flat->count[PER_JOINT]; j++) {
        int moves = flat_ints(flat, JOINT_KIND)[j] != JOINT_FIXED;
        if (flat_ints(flat, JOINT_CHILD)[j] != flat_ints(flat, JOINT_PARENT)[j] &&
            (!moves || flat_ints(flat, JOINT_COORDINATE)[j] >= 0))
            continue;
        PyErr_Format(PyExc_ValueError,
                     "joints[%zd] connects a group to itself, or has no coordinate", j);
        return 0;
    }
    for (Py_ssize_t i = 0; i < flat->count[PER_LOOP]; i++) {
        if (flat_ints(flat, LOOP_A)[i] != flat_ints(flat, LOOP_B)[i])
            continue;
        PyErr_Format(PyExc_ValueError, "loops[%zd] connects a group to itself", i);
        return 0;
    }
    return 1;
}

/* Whether gears connect two moving joints. */
static int gears_in_range(const Flat *flat)
{
    const int *kind = flat_ints(flat, JOINT_KIND);
    for (Py_ssize_t i = 0; i < flat->count[PER_GEAR]; i++) {
        int follower = flat_ints(flat, GEAR_FOLLOWER)[i], leader = flat_ints(flat, GEAR_LEADER)[i];
        if (follower != leader && kind[follower] != JOINT_FIXED && kind[leader] != JOINT_FIXED)
            continue;
        PyErr_Format(PyExc_ValueError, "gears[%zd] does not connect two moving joints", i);
        return 0;
    }
    return 1;
}

/* Whether the values of a field are within MAX_VALUE; only ranges may be infinite. */
static int reals_in_range(const Flat *flat, FlatField field)
{
    const double *values = flat_reals(flat, field);
    Py_ssize_t count = flat->views[field].len / (Py_ssize_t)sizeof(double);
    int is_range = field >= JOINT_LOWER && field <= JOINT_EFFORT_UPPER;
    int is_positive = field == GROUP_MASS;
    int is_size = field == GEOM_SIZE || field == JOINT_ROTOR_INERTIA || field == JOINT_STIFFNESS;
    for (Py_ssize_t i = 0; i < count; i++) {
        double x = values[i];
        if ((is_range ? isnan(x) : !(fabs(x) < MAX_VALUE)) || (is_positive && x <= 0.0) ||
            (is_size && x < 0.0)) {
            PyErr_Format(PyExc_ValueError, "%s.%s[%zd] is not finite or out of range",
                         FLAT[field].owner ? FLAT[field].owner : "start", FLAT[field].name, i);
            return 0;
        }
    }
    return 1;
}

/* Whether vectors (width 3) are unit vectors, or the rows of matrices (width 9) orthonormal. */
static int units_in_range(const Flat *flat, FlatField field)
{
    const double *values = flat_reals(flat, field);
    int rows = FLAT[field].width / 3;
    Py_ssize_t count = flat->views[field].len / (Py_ssize_t)sizeof(double) / FLAT[field].width;
    for (Py_ssize_t n = 0; n < count; n++) {
        if (field == JOINT_AXIS && flat_ints(flat, JOINT_KIND)[n] == JOINT_FIXED)
            continue; /* it has no axis */
        for (int i = 0; i < rows; i++)
            for (int k = 0; k < rows; k++) {
                const double *at = values + FLAT[field].width * n;
                if (fabs(dot3(at + 3 * i, at + 3 * k) - (i == k)) < 1e-5)
                    continue;
                PyErr_Format(PyExc_ValueError, "%s.%s[%zd] is not normalized", FLAT[field].owner,
                             FLAT[field].name, n);
                return 0;
            }
    }
    return 1;
}

/* Return mass and inertia of a group. */
void group_mass(const Flat *flat, Py_ssize_t g, dMass *mass)
{
    const double *I = flat_reals(flat, GROUP_INERTIA) + 9 * g;
    dMassSetParameters(mass, flat_reals(flat, GROUP_MASS)[g], 0.0, 0.0, 0.0, I[0], I[4], I[8], I[1],
                       I[2], I[5]);
}

/* Whether ODE accepts every mass and inertia. */
static int masses_in_range(const Flat *flat)
{
    for (Py_ssize_t g = 0; g < flat->count[PER_GROUP]; g++) {
        dMass mass;
        group_mass(flat, g, &mass);
        if (dMassCheck(&mass))
            continue;
        PyErr_Format(PyExc_ValueError, "groups.inertia[%zd] is not positive definite", g);
        return 0;
    }
    return 1;
}

/* ODE fails on such numbers in the middle of a call, which breaks the world. So they are checked
 * here even though flatten() has checked them and named the link. */
static int numbers_in_range(const Flat *flat)
{
    static const FlatField units[] = {LINK_R,   GROUP_ZERO_R, GROUP_R,  GEOM_R,
                                      LOOP_R_A, LOOP_R_B,     JOINT_AXIS, LOOP_AXIS};
    for (int field = 0; field < FLAT_FIELDS; field++)
        if (FLAT[field].type == 'd' && !reals_in_range(flat, (FlatField)field))
            return 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!units_in_range(flat, units[i]))
            return 0;
    return masses_in_range(flat);
}

static int flat_indices_check(const Flat *flat, int materials)
{
    const Py_ssize_t *n = flat->count;
    return numbers_in_range(flat) && indices_in_range(flat, LINK_GROUP, -1, n[PER_GROUP]) &&
           indices_in_range(flat, JOINT_KIND, JOINT_FIXED, JOINT_SLIDER + 1) &&
           indices_in_range(flat, JOINT_LINK, 0, n[PER_LINK]) &&
           indices_in_range(flat, JOINT_COORDINATE, -1, n[PER_COORDINATE]) &&
           indices_in_range(flat, JOINT_CHILD, 0, n[PER_GROUP]) &&
           indices_in_range(flat, JOINT_PARENT, -1, n[PER_GROUP]) &&
           indices_in_range(flat, LOOP_KIND, LOOP_BALL, LOOP_Z + 1) &&
           indices_in_range(flat, LOOP_A, -1, n[PER_GROUP]) &&
           indices_in_range(flat, LOOP_B, -1, n[PER_GROUP]) &&
           indices_in_range(flat, GEOM_KIND, GEOM_BOX, GEOM_MESH + 1) &&
           indices_in_range(flat, GEOM_LINK, 0, n[PER_LINK]) &&
           indices_in_range(flat, GEOM_MATERIAL, -1, materials) && meshes_in_range(flat) &&
           indices_in_range(flat, GEAR_FOLLOWER, 0, n[PER_JOINT]) &&
           indices_in_range(flat, GEAR_LEADER, 0, n[PER_JOINT]) && joint_ends_in_range(flat) &&
           gears_in_range(flat);
}

/* Hold every array of an Articulation. Returns -1 with an exception set; flat_release is due then,
 * too. */
int flat_fetch(Flat *flat, PyObject *articulation, int materials)
{
    memset(flat, 0, sizeof *flat);
    for (int field = 0; field < FLAT_FIELDS; field++) {
        const Field *f = &FLAT[field];
        int is_first = f->per <= PER_TRIANGLE && (int)FIRST[f->per] == field;
        Py_ssize_t size = is_first ? -1 : flat->count[f->per] * f->width;
        if (f->per == PER_COORDINATE && !is_first)
            size = flat->count[PER_COORDINATE];
        if (fetch_flat_field(flat, articulation, field, size))
            return -1;
        flat->held = field + 1;
        if (is_first)
            flat->count[f->per] = flat->views[field].len / flat->views[field].itemsize / f->width;
        flat->count[PER_GEOM_AND_END] = flat->count[PER_GEOM] + 1;
        flat->count[PER_PAIR] = flat->count[PER_LINK] * flat->count[PER_LINK];
    }
    return flat_indices_check(flat, materials) ? 0 : -1;
}

void flat_release(Flat *flat)
{
    while (flat->held > 0)
        PyBuffer_Release(&flat->views[--flat->held]);
}

/* Hold the arrays that the engine writes (motion) and reads (drive, wrench) at every step. */
int live_fetch(Body *body, PyObject *motion, PyObject *drive, PyObject *wrench)
{
    for (int field = 0; field < LIVE_FIELDS; field++) {
        PyObject *owner = field < DRIVE_Q ? motion : field < WRENCH_FORCE ? drive : wrench;
        int is_drive = owner == drive; /* read-only; a reset writes the wrenches */
        int rows = LIVE[field].per_link ? body->links : body->coordinates;
        if (fetch_array(owner, LIVE[field].name, 'd', (Py_ssize_t)rows * LIVE[field].width,
                        !is_drive, &body->live[field]))
            return -1;
        body->held = field + 1;
    }
    return 0;
}
