/* Motions, forces and inertias of a tree of links in many postures; see _dynamics.pyi.
 *
 * Two postures are computed at a time, one in each lane of a vector: every 64-bit processor computes
 * with two numbers at once. More lanes gain little, as the memory is then the limit, and are slow
 * where the processor has shorter vectors. Vectors in space are in world axes.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <math.h>
#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum { LANES = 2, MAX_DIMENSIONS = 4, MAX_ARRAYS = 14 };
typedef double Lanes __attribute__((vector_size(LANES * sizeof(double))));
typedef struct { Lanes x, y, z; } Vec;
typedef struct { Vec x, y, z; } Mat; /* columns */

/* Vectors. */

INLINE Vec add(Vec a, Vec b) { return (Vec){a.x + b.x, a.y + b.y, a.z + b.z}; }
INLINE Vec sub(Vec a, Vec b) { return (Vec){a.x - b.x, a.y - b.y, a.z - b.z}; }
INLINE Vec scale(Vec a, Lanes s) { return (Vec){a.x * s, a.y * s, a.z * s}; }
INLINE Lanes dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

INLINE Vec cross(Vec a, Vec b)
{
    return (Vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

/* R c for the same vector c in all lanes. */
INLINE Vec rotated(const Mat *R, const double c[3])
{
    return (Vec){R->x.x * c[0] + R->y.x * c[1] + R->z.x * c[2],
                 R->x.y * c[0] + R->y.y * c[1] + R->z.y * c[2],
                 R->x.z * c[0] + R->y.z * c[1] + R->z.z * c[2]};
}

INLINE Vec times(const Mat *R, Vec a) { return add(add(scale(R->x, a.x), scale(R->y, a.y)), scale(R->z, a.z)); }
INLINE Vec transposed_times(const Mat *R, Vec a) { return (Vec){dot(R->x, a), dot(R->y, a), dot(R->z, a)}; }

/* The model. */

/* A row of the constants; vectors are in the link's frame. */
typedef struct {
    double turn[3], slide[3]; /* axis of a revolute or of a prismatic joint, else 0 */
    double rotor, mass, center[3];
    double inertia[6]; /* about the centre of mass: xx, yy, zz, xy, xz, yz */
    double offset[3], columns[3][3]; /* pose in the parent at q = 0; columns of the rotation */
} Constants;

typedef struct { int64_t parent, joint; } Place; /* -1: none */

typedef struct {
    Py_ssize_t links, joints;
    const Place *place;
    const Constants *constants;
} Tree;

INLINE int slides(const Constants *c) { return c->slide[0] != 0.0 || c->slide[1] != 0.0 || c->slide[2] != 0.0; }

INLINE int turns(const Constants *c) { return c->turn[0] != 0.0 || c->turn[1] != 0.0 || c->turn[2] != 0.0; }

INLINE Vec axis_of(const Constants *c, const Mat *R) { return rotated(R, slides(c) ? c->slide : c->turn); }

/* I a for the inertia in the link's frame. */
INLINE Vec times_inertia(const Constants *c, Vec a)
{
    const double *I = c->inertia;
    return (Vec){a.x * I[0] + a.y * I[3] + a.z * I[4], a.x * I[3] + a.y * I[1] + a.z * I[5],
                 a.x * I[4] + a.y * I[5] + a.z * I[2]};
}

/* Arrays of postures. */

typedef struct {
    char *data;
    Py_ssize_t steps[MAX_DIMENSIONS]; /* in bytes; the first is that of postures */
} Array;

typedef struct { Py_ssize_t start; int count; } Part; /* postures that are computed together */

INLINE char *place_of(const Array *a, Part part, Py_ssize_t i, Py_ssize_t j, Py_ssize_t k)
{
    return a->data + part.start * a->steps[0] + i * a->steps[1] + j * a->steps[2] + k * a->steps[3];
}

/* Numbers of the postures; 0 in unused lanes. */
INLINE Lanes get(const Array *a, Part part, Py_ssize_t i, Py_ssize_t j, Py_ssize_t k)
{
    const char *from = place_of(a, part, i, j, k);
    Lanes found = {0};
    if (part.count == LANES && a->steps[0] == sizeof(double)) {
        memcpy(&found, from, sizeof(found));
        return found;
    }
    double values[LANES] = {0};
    for (int lane = 0; lane < part.count; lane++)
        memcpy(&values[lane], from + lane * a->steps[0], sizeof(double));
    memcpy(&found, values, sizeof(found));
    return found;
}

INLINE void put(const Array *a, Part part, Py_ssize_t i, Py_ssize_t j, Py_ssize_t k, Lanes numbers)
{
    char *into = place_of(a, part, i, j, k);
    if (part.count == LANES && a->steps[0] == sizeof(double)) {
        memcpy(into, &numbers, sizeof(numbers));
        return;
    }
    double values[LANES];
    memcpy(values, &numbers, sizeof(values));
    for (int lane = 0; lane < part.count; lane++)
        memcpy(into + lane * a->steps[0], &values[lane], sizeof(double));
}

INLINE Vec get_vec(const Array *a, Part part, Py_ssize_t i)
{
    return (Vec){get(a, part, i, 0, 0), get(a, part, i, 1, 0), get(a, part, i, 2, 0)};
}

INLINE void put_vec(const Array *a, Part part, Py_ssize_t i, Vec v)
{
    put(a, part, i, 0, 0, v.x);
    put(a, part, i, 1, 0, v.y);
    put(a, part, i, 2, 0, v.z);
}

INLINE Vec get_column(const Array *R, Part part, Py_ssize_t i, Py_ssize_t column)
{
    return (Vec){get(R, part, i, 0, column), get(R, part, i, 1, column), get(R, part, i, 2, column)};
}

INLINE Mat get_mat(const Array *R, Part part, Py_ssize_t i)
{
    return (Mat){get_column(R, part, i, 0), get_column(R, part, i, 1), get_column(R, part, i, 2)};
}

INLINE void put_column(const Array *R, Part part, Py_ssize_t i, Py_ssize_t column, Vec v)
{
    put(R, part, i, 0, column, v.x);
    put(R, part, i, 1, column, v.y);
    put(R, part, i, 2, column, v.z);
}

/* Motions and forces. */

typedef struct { Array q, p, R, dq, ddq, v, w, dv, dw, u, wrench; } State;

typedef struct {
    Vec p, axis;
    Vec v, w, dv, dw; /* motion of its origin */
    Vec force, moment; /* that move it and the links below it, moment about its origin */
} Link;

/* sin a and 1 - cos a; the latter keeps its digits near 0. */
INLINE void turn_by(Lanes angle, Part part, Lanes *sine, Lanes *rise)
{
    double sines[LANES] = {0}, half_sines[LANES] = {0};
    for (int lane = 0; lane < part.count; lane++) {
        sines[lane] = sin(angle[lane]);
        half_sines[lane] = sin(angle[lane] / 2.0);
    }
    Lanes half;
    memcpy(sine, sines, sizeof(*sine));
    memcpy(&half, half_sines, sizeof(half));
    *rise = 2.0 * half * half;
}

/* A column of R turned about an axis in its frame. That is linear in R: errors do not grow. */
INLINE Vec turned(const Mat *R, const double a[3], int column, Lanes sine, Lanes rise)
{
    const double e[3] = {column == 0, column == 1, column == 2};
    const double b[3] = {a[1] * e[2] - a[2] * e[1], a[2] * e[0] - a[0] * e[2], a[0] * e[1] - a[1] * e[0]};
    const double d[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    return times(R, (Vec){e[0] + sine * b[0] + rise * d[0], e[1] + sine * b[1] + rise * d[1],
                          e[2] + sine * b[2] + rise * d[2]});
}

/* Pose of a link from that of its parent. */
INLINE void place(const Constants *c, const Mat *parent, Vec parent_p, Lanes q, Part part, Mat *R, Vec *p)
{
    *R = (Mat){rotated(parent, c->columns[0]), rotated(parent, c->columns[1]), rotated(parent, c->columns[2])};
    *p = add(parent_p, rotated(parent, c->offset));
    if (slides(c)) {
        *p = add(*p, scale(rotated(R, c->slide), q));
    } else if (turns(c)) {
        Lanes sine, rise;
        turn_by(q, part, &sine, &rise);
        *R = (Mat){turned(R, c->turn, 0, sine, rise), turned(R, c->turn, 1, sine, rise),
                   turned(R, c->turn, 2, sine, rise)};
    }
}

/* Motion of a link from that of its parent; rates are zero if only velocities are wanted. */
INLINE void move(const Constants *c, const Link *parent, Lanes dq, Lanes ddq, Link *link)
{
    Vec arm = sub(link->p, parent->p), turning = cross(parent->w, arm), along = scale(link->axis, dq);
    Vec carried = cross(parent->w, along);
    link->w = parent->w;
    link->v = add(parent->v, turning);
    link->dw = parent->dw;
    link->dv = add(parent->dv, add(cross(parent->dw, arm), cross(parent->w, turning)));
    if (slides(c)) {
        link->v = add(link->v, along);
        link->dv = add(link->dv, add(scale(link->axis, ddq), add(carried, carried)));
    } else {
        link->w = add(link->w, along);
        link->dw = add(link->dw, add(scale(link->axis, ddq), carried));
    }
}

INLINE void move_links(const Tree *tree, const State *s, Part part, int accelerations, Link *links)
{
    const Lanes zero = {0};
    const Vec none = {zero, zero, zero};
    for (Py_ssize_t i = 0; i < tree->links; i++) {
        Link *link = &links[i];
        const Constants *c = &tree->constants[i];
        const Py_ssize_t joint = (Py_ssize_t)tree->place[i].joint;
        const Mat R = get_mat(&s->R, part, i);
        link->p = get_vec(&s->p, part, i);
        link->axis = axis_of(c, &R);
        if (i == 0) { /* its motion is given */
            link->v = get_vec(&s->v, part, 0);
            link->w = get_vec(&s->w, part, 0);
            link->dv = accelerations ? get_vec(&s->dv, part, 0) : none;
            link->dw = accelerations ? get_vec(&s->dw, part, 0) : none;
            continue;
        }
        move(c, &links[tree->place[i].parent], joint < 0 ? zero : get(&s->dq, part, joint, 0, 0),
             joint < 0 || !accelerations ? zero : get(&s->ddq, part, joint, 0, 0), link);
        put_vec(&s->v, part, i, link->v);
        put_vec(&s->w, part, i, link->w);
        if (accelerations) {
            put_vec(&s->dv, part, i, link->dv);
            put_vec(&s->dw, part, i, link->dw);
        }
    }
}

/* Force and moment that accelerate a link alone. */
INLINE void push(const Constants *c, const Mat *R, Link *link)
{
    const Vec center = rotated(R, c->center), turning = cross(link->w, center);
    const Vec rate = add(link->dv, add(cross(link->dw, center), cross(link->w, turning)));
    const Vec spin = transposed_times(R, link->w), spin_rate = transposed_times(R, link->dw);
    const Vec about_center =
        add(times_inertia(c, spin_rate), cross(spin, times_inertia(c, spin)));
    link->force = (Vec){rate.x * c->mass, rate.y * c->mass, rate.z * c->mass};
    link->moment = add(times(R, about_center), cross(center, link->force));
}

/* Sum the forces from the leaves on, and write joint efforts and the wrench of one link. */
INLINE void carry(const Tree *tree, const State *s, Part part, Py_ssize_t base, int accelerations, Link *links)
{
    for (Py_ssize_t i = tree->links - 1; i >= 0; i--) {
        Link *link = &links[i];
        const Constants *c = &tree->constants[i];
        const Py_ssize_t joint = (Py_ssize_t)tree->place[i].joint;
        if (joint >= 0) {
            Lanes effort = dot(link->axis, slides(c) ? link->force : link->moment);
            if (accelerations)
                effort += c->rotor * get(&s->ddq, part, joint, 0, 0);
            put(&s->u, part, joint, 0, 0, effort);
        }
        if (i == base) {
            const Vec about_origin = add(link->moment, cross(link->p, link->force));
            const Lanes wrench[6] = {link->force.x, link->force.y, link->force.z,
                                     about_origin.x, about_origin.y, about_origin.z};
            for (int j = 0; j < 6; j++)
                put(&s->wrench, part, j, 0, 0, wrench[j]);
        }
        if (i > 0) {
            Link *parent = &links[tree->place[i].parent];
            const Vec arm = sub(link->p, parent->p);
            parent->force = add(parent->force, link->force);
            parent->moment = add(parent->moment, add(link->moment, cross(arm, link->force)));
        }
    }
}

INLINE Part part_at(Py_ssize_t start, Py_ssize_t postures)
{
    return (Part){start, (int)(postures - start < LANES ? postures - start : LANES)};
}

static void all_poses(const Tree *tree, const State *s, Py_ssize_t postures)
{
    const Lanes zero = {0};
    for (Py_ssize_t start = 0; start < postures; start += LANES) {
        const Part part = part_at(start, postures);
        for (Py_ssize_t i = 1; i < tree->links; i++) {
            const Place at = tree->place[i];
            const Mat parent = get_mat(&s->R, part, (Py_ssize_t)at.parent);
            const Vec parent_p = get_vec(&s->p, part, (Py_ssize_t)at.parent);
            Mat R;
            Vec p;
            place(&tree->constants[i], &parent, parent_p,
                  at.joint < 0 ? zero : get(&s->q, part, (Py_ssize_t)at.joint, 0, 0), part, &R, &p);
            put_vec(&s->p, part, i, p);
            put_column(&s->R, part, i, 0, R.x);
            put_column(&s->R, part, i, 1, R.y);
            put_column(&s->R, part, i, 2, R.z);
        }
    }
}

/* Velocity of a point per unit of velocity of each joint of a path. */
typedef struct {
    Py_ssize_t joints;
    const int64_t *links;
    const double *signs;
    Array point, columns;
} Path;

static void all_columns(const Tree *tree, const State *s, Py_ssize_t postures, const Path *path)
{
    const Lanes zero = {0};
    const Vec none = {zero, zero, zero};
    for (Py_ssize_t start = 0; start < postures; start += LANES) {
        const Part part = part_at(start, postures);
        const Vec point = {get(&path->point, part, 0, 0, 0), get(&path->point, part, 1, 0, 0),
                           get(&path->point, part, 2, 0, 0)};
        for (Py_ssize_t j = 0; j < path->joints; j++) {
            const Py_ssize_t i = (Py_ssize_t)path->links[j];
            const Constants *c = &tree->constants[i];
            const Mat R = get_mat(&s->R, part, i);
            const Vec axis = scale(axis_of(c, &R), zero + path->signs[j]);
            const Vec linear = slides(c) ? axis : cross(axis, sub(point, get_vec(&s->p, part, i)));
            put_column(&path->columns, part, 0, j, linear);
            put_column(&path->columns, part, 1, j, slides(c) ? none : axis);
        }
    }
}

static void all_motions(const Tree *tree, const State *s, Py_ssize_t postures, int accelerations, Link *links)
{
    for (Py_ssize_t start = 0; start < postures; start += LANES)
        move_links(tree, s, part_at(start, postures), accelerations, links);
}

static void all_forces(const Tree *tree, const State *s, Py_ssize_t postures, Py_ssize_t base, Link *links)
{
    for (Py_ssize_t start = 0; start < postures; start += LANES) {
        const Part part = part_at(start, postures);
        move_links(tree, s, part, 1, links);
        for (Py_ssize_t i = 0; i < tree->links; i++) {
            const Mat R = get_mat(&s->R, part, i);
            push(&tree->constants[i], &R, &links[i]);
        }
        carry(tree, s, part, base, 1, links);
    }
}

static void all_weights(const Tree *tree, const State *s, Py_ssize_t postures, double gravity, Link *links)
{
    const Lanes zero = {0};
    for (Py_ssize_t start = 0; start < postures; start += LANES) {
        const Part part = part_at(start, postures);
        for (Py_ssize_t i = 0; i < tree->links; i++) {
            Link *link = &links[i];
            const Constants *c = &tree->constants[i];
            const Mat R = get_mat(&s->R, part, i);
            link->p = get_vec(&s->p, part, i);
            link->axis = axis_of(c, &R);
            link->force = (Vec){zero, zero, zero + gravity * c->mass};
            link->moment = cross(rotated(&R, c->center), link->force);
        }
        carry(tree, s, part, -1, 0, links);
    }
}

/* Inertias. */

typedef struct {
    Vec turn, slide; /* motion about the root's origin at unit speed of its joint */
    Lanes mass;      /* of it and the links below it */
    Vec first;       /* their first moment of mass about the root's origin */
    Lanes second[6]; /* and their inertia: xx, yy, zz, xy, xz, yz */
} Composite;

INLINE Vec times_second(const Lanes I[6], Vec a)
{
    return (Vec){I[0] * a.x + I[3] * a.y + I[4] * a.z, I[3] * a.x + I[1] * a.y + I[5] * a.z,
                 I[4] * a.x + I[5] * a.y + I[2] * a.z};
}

/* A link alone, at p from the root's origin. */
INLINE void weigh(const Constants *c, const Mat *R, Vec p, Composite *link)
{
    const Lanes zero = {0};
    const double *I = c->inertia;
    const double x[3] = {I[0], I[3], I[4]}, y[3] = {I[3], I[1], I[5]}, z[3] = {I[4], I[5], I[2]};
    const Mat half = {rotated(R, x), rotated(R, y), rotated(R, z)}; /* R I; R I R^T is wanted */
    const Vec center = add(p, rotated(R, c->center)), axis = axis_of(c, R);
    const Vec h = {center.x * c->mass, center.y * c->mass, center.z * c->mass};
    const Vec none = {zero, zero, zero};
    link->turn = slides(c) ? none : axis;
    link->slide = slides(c) ? axis : cross(p, axis);
    link->mass = zero + c->mass;
    link->first = h;
#define ENTRY(i, j) (half.x.i * R->x.j + half.y.i * R->y.j + half.z.i * R->z.j)
    link->second[0] = ENTRY(x, x) + (h.y * center.y + h.z * center.z);
    link->second[1] = ENTRY(y, y) + (h.x * center.x + h.z * center.z);
    link->second[2] = ENTRY(z, z) + (h.x * center.x + h.y * center.y);
    link->second[3] = ENTRY(x, y) - h.x * center.y;
    link->second[4] = ENTRY(x, z) - h.x * center.z;
    link->second[5] = ENTRY(y, z) - h.y * center.z;
#undef ENTRY
}

INLINE void join(const Composite *link, Composite *parent)
{
    parent->mass += link->mass;
    parent->first = add(parent->first, link->first);
    for (int i = 0; i < 6; i++)
        parent->second[i] += link->second[i];
}

/* The inertia matrix or some of its columns, from row and column `first` on. */
typedef struct { Array array; Py_ssize_t first, columns; } Matrix;

INLINE void put_entry(const Matrix *M, Part part, Py_ssize_t i, Py_ssize_t j, Lanes number)
{
    if (i >= M->first && j >= M->first && j < M->columns)
        put(&M->array, part, i - M->first, j - M->first, 0, number);
}

/* The momentum of a composite in a unit motion: columns 0 to 5 of a row, and the same column. */
INLINE void put_momentum(const Matrix *M, Part part, Py_ssize_t row, Vec P, Vec L)
{
    const Lanes momentum[6] = {P.x, P.y, P.z, L.x, L.y, L.z};
    for (Py_ssize_t j = 0; j < 6; j++) {
        put_entry(M, part, row, j, momentum[j]);
        if (row >= 6)
            put_entry(M, part, j, row, momentum[j]);
    }
}

INLINE void put_root(const Matrix *M, Part part, const Composite *whole)
{
    const Lanes zero = {0}, one = zero + 1.0;
    const Vec units[3] = {{one, zero, zero}, {zero, one, zero}, {zero, zero, one}};
    for (int i = 0; i < 3; i++) {
        put_momentum(M, part, i, scale(units[i], whole->mass), cross(whole->first, units[i]));
        put_momentum(M, part, 3 + i, cross(units[i], whole->first), times_second(whole->second, units[i]));
    }
}

INLINE void put_joint(const Tree *tree, const Matrix *M, Part part, Py_ssize_t i, const Composite *links)
{
    const Composite *link = &links[i];
    const Py_ssize_t joint = (Py_ssize_t)tree->place[i].joint;
    const Vec P = add(scale(link->slide, link->mass), cross(link->turn, link->first));
    const Vec L = add(times_second(link->second, link->turn), cross(link->first, link->slide));
    put_momentum(M, part, 6 + joint, P, L);
    if (M->columns == 6)
        return;
    for (Py_ssize_t above = i; above >= 0; above = (Py_ssize_t)tree->place[above].parent) {
        const Py_ssize_t other = (Py_ssize_t)tree->place[above].joint;
        if (other < 0)
            continue;
        Lanes inertia = dot(links[above].slide, P) + dot(links[above].turn, L);
        if (above == i)
            inertia += tree->constants[i].rotor;
        put_entry(M, part, 6 + joint, 6 + other, inertia);
        put_entry(M, part, 6 + other, 6 + joint, inertia);
    }
}

static void all_inertias(const Tree *tree, const State *s, Py_ssize_t postures, const Matrix *M, Composite *links)
{
    for (Py_ssize_t start = 0; start < postures; start += LANES) {
        const Part part = part_at(start, postures);
        const Vec root = get_vec(&s->p, part, 0);
        for (Py_ssize_t i = 0; i < tree->links; i++) {
            const Mat R = get_mat(&s->R, part, i);
            weigh(&tree->constants[i], &R, sub(get_vec(&s->p, part, i), root), &links[i]);
        }
        for (Py_ssize_t i = tree->links - 1; i >= 0; i--) {
            if (tree->place[i].joint >= 0)
                put_joint(tree, M, part, i, links);
            if (i > 0)
                join(&links[i], &links[tree->place[i].parent]);
        }
        put_root(M, part, &links[0]);
    }
}

/* Arguments. */

typedef struct {
    Py_buffer views[MAX_ARRAYS];
    int count;
    Py_ssize_t postures; /* -1 before the first array */
    Tree tree;
} Held;

static void release(Held *held)
{
    while (held->count > 0)
        PyBuffer_Release(&held->views[--held->count]);
}

/* Hold an array of numbers of eight bytes in one of the formats. */
static Py_buffer *hold(Held *held, PyObject *object, const char *name, int flags, const char *formats)
{
    Py_buffer *view = &held->views[held->count];
    if (PyObject_GetBuffer(object, view, flags | PyBUF_FORMAT))
        return NULL;
    held->count++;
    if (view->itemsize == 8 && view->format && strlen(view->format) == 1 && strchr(formats, view->format[0]))
        return view;
    PyErr_Format(PyExc_ValueError, "%s must be an array of %s", name, formats[0] == 'd' ? "float64" : "int64");
    return NULL;
}

/* Hold an array with a leading axis of postures, or none for one posture. */
static int hold_array(Held *held, PyObject *object, const char *name, int flags, int dimensions,
                      const Py_ssize_t *shape, Array *into)
{
    const Py_buffer *view = hold(held, object, name, PyBUF_STRIDES | flags, "d");
    if (!view)
        return -1;
    const int lead = view->ndim - dimensions;
    int fits = lead == 0 || lead == 1;
    for (int i = 0; fits && i < dimensions; i++)
        fits = view->shape[lead + i] == shape[i];
    const Py_ssize_t postures = fits && lead ? view->shape[0] : 1;
    if (!fits || (held->postures >= 0 && postures != held->postures)) {
        PyErr_Format(PyExc_ValueError, "%s has a wrong shape", name);
        return -1;
    }
    held->postures = postures;
    memset(into, 0, sizeof(*into));
    into->data = view->buf;
    into->steps[0] = lead ? view->strides[0] : 0;
    for (int i = 0; i < dimensions; i++)
        into->steps[1 + i] = view->strides[lead + i];
    return 0;
}

static int hold_joints(Held *held, PyObject *object, const char *name, int flags, Array *into)
{
    return hold_array(held, object, name, flags, 1, (Py_ssize_t[]){held->tree.joints}, into);
}

static int hold_vectors(Held *held, PyObject *object, const char *name, int flags, Array *into)
{
    return hold_array(held, object, name, flags, 2, (Py_ssize_t[]){held->tree.links, 3}, into);
}

static int hold_poses(Held *held, PyObject *p, PyObject *R, int flags, State *s)
{
    const Py_ssize_t shape[] = {held->tree.links, 3, 3};
    return hold_array(held, p, "p", flags, 2, shape, &s->p) || hold_array(held, R, "R", flags, 3, shape, &s->R);
}

/* Hold the constants of a body with this number of joints, and check that its indices are in range. */
static int hold_tree(Held *held, PyObject *places, PyObject *constants, Py_ssize_t joints)
{
    const Py_buffer *place = hold(held, places, "places", PyBUF_C_CONTIGUOUS, "lq");
    const Py_buffer *row = place ? hold(held, constants, "constants", PyBUF_C_CONTIGUOUS, "d") : NULL;
    if (!row)
        return -1;
    const Py_ssize_t links = place->len / (Py_ssize_t)sizeof(Place);
    held->tree = (Tree){links, joints, place->buf, row->buf};
    int fits = links > 0 && row->len == links * (Py_ssize_t)sizeof(Constants);
    for (Py_ssize_t i = 0; fits && i < links; i++) {
        const Place at = held->tree.place[i];
        fits = (i == 0 ? at.parent == -1 : at.parent >= 0 && at.parent < i) && at.joint >= -1 && at.joint < joints;
    }
    if (!fits)
        PyErr_SetString(PyExc_ValueError, "places and constants must be those of a tree of links");
    return fits ? 0 : -1;
}

/* The last number of an array's shape, or -1 with an exception. */
static Py_ssize_t length_of(PyObject *array)
{
    Py_buffer view;
    if (PyObject_GetBuffer(array, &view, PyBUF_STRIDES))
        return -1;
    const Py_ssize_t length = view.ndim > 0 ? view.shape[view.ndim - 1] : 0;
    PyBuffer_Release(&view);
    return length;
}

/* Hold places, constants, p, R, dq, ddq, v, w, dv and dw. */
static int hold_motion(Held *held, PyObject *const *o, State *s)
{
    const Py_ssize_t joints = length_of(o[4]);
    return joints < 0 || hold_tree(held, o[0], o[1], joints) || hold_poses(held, o[2], o[3], 0, s) ||
           hold_joints(held, o[4], "dq", 0, &s->dq) || hold_joints(held, o[5], "ddq", 0, &s->ddq) ||
           hold_vectors(held, o[6], "v", PyBUF_WRITABLE, &s->v) ||
           hold_vectors(held, o[7], "w", PyBUF_WRITABLE, &s->w) ||
           hold_vectors(held, o[8], "dv", PyBUF_WRITABLE, &s->dv) ||
           hold_vectors(held, o[9], "dw", PyBUF_WRITABLE, &s->dw);
}

/* Memory of one element per link, aligned for vectors. */
static void *scratch(Py_ssize_t links, size_t size)
{
    void *memory = aligned_alloc(sizeof(Lanes), (size_t)links * size);
    return memory ? memory : PyErr_NoMemory();
}

static PyObject *finish(Held *held, void *memory)
{
    free(memory);
    release(held);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyObject *poses(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *places, *constants, *q, *p, *R;
    if (!PyArg_ParseTuple(args, "OOOOO", &places, &constants, &q, &p, &R))
        return NULL;
    Held held = {.postures = -1};
    State s;
    const Py_ssize_t joints = length_of(q);
    if (joints < 0 || hold_tree(&held, places, constants, joints) || hold_joints(&held, q, "q", 0, &s.q) ||
        hold_poses(&held, p, R, PyBUF_WRITABLE, &s))
        return finish(&held, NULL);
    Py_BEGIN_ALLOW_THREADS
    all_poses(&held.tree, &s, held.postures);
    Py_END_ALLOW_THREADS
    return finish(&held, NULL);
}

/* Hold the links of a path and the signs of its joints. */
static int hold_path(Held *held, PyObject *links, PyObject *signs, Path *path)
{
    const Py_buffer *link = hold(held, links, "links", PyBUF_C_CONTIGUOUS, "lq");
    const Py_buffer *sign = link ? hold(held, signs, "signs", PyBUF_C_CONTIGUOUS, "d") : NULL;
    if (!sign)
        return -1;
    path->joints = link->len / (Py_ssize_t)sizeof(int64_t);
    path->links = link->buf;
    path->signs = sign->buf;
    int fits = sign->len == link->len;
    for (Py_ssize_t j = 0; fits && j < path->joints; j++)
        fits = path->links[j] >= 0 && path->links[j] < held->tree.links;
    if (!fits)
        PyErr_SetString(PyExc_ValueError, "links and signs must be those of the joints of a path");
    return fits ? 0 : -1;
}

static PyObject *columns(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *places, *constants, *p, *R, *links, *signs, *point, *matrix;
    if (!PyArg_ParseTuple(args, "OOOOOOOO", &places, &constants, &p, &R, &links, &signs, &point, &matrix))
        return NULL;
    Held held = {.postures = -1};
    State s;
    Path path;
    if (hold_tree(&held, places, constants, PY_SSIZE_T_MAX) || hold_poses(&held, p, R, 0, &s) ||
        hold_path(&held, links, signs, &path) ||
        hold_array(&held, point, "point", 0, 1, (Py_ssize_t[]){3}, &path.point) ||
        hold_array(&held, matrix, "matrix", PyBUF_WRITABLE, 3, (Py_ssize_t[]){2, 3, path.joints}, &path.columns))
        return finish(&held, NULL);
    Py_BEGIN_ALLOW_THREADS
    all_columns(&held.tree, &s, held.postures, &path);
    Py_END_ALLOW_THREADS
    return finish(&held, NULL);
}

static PyObject *motions(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *o[10];
    int accelerations;
    if (!PyArg_ParseTuple(args, "OOOOOOOOOOp", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &o[6], &o[7], &o[8],
                          &o[9], &accelerations))
        return NULL;
    Held held = {.postures = -1};
    State s;
    Link *links = NULL;
    if (hold_motion(&held, o, &s) ||
        !(links = scratch(held.tree.links, sizeof(Link))))
        return finish(&held, links);
    Py_BEGIN_ALLOW_THREADS
    all_motions(&held.tree, &s, held.postures, accelerations, links);
    Py_END_ALLOW_THREADS
    return finish(&held, links);
}

static PyObject *forces(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *o[10], *u, *wrench;
    Py_ssize_t base;
    if (!PyArg_ParseTuple(args, "OOOOOOOOOOOOn", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &o[6], &o[7], &o[8],
                          &o[9], &u, &wrench, &base))
        return NULL;
    Held held = {.postures = -1};
    State s;
    Link *links = NULL;
    if (hold_motion(&held, o, &s) ||
        hold_joints(&held, u, "u", PyBUF_WRITABLE, &s.u) ||
        hold_array(&held, wrench, "wrench", PyBUF_WRITABLE, 1, (Py_ssize_t[]){6}, &s.wrench) ||
        !(links = scratch(held.tree.links, sizeof(Link))))
        return finish(&held, links);
    Py_BEGIN_ALLOW_THREADS
    all_forces(&held.tree, &s, held.postures, base, links);
    Py_END_ALLOW_THREADS
    return finish(&held, links);
}

static PyObject *weights(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *places, *constants, *p, *R, *u;
    double gravity;
    if (!PyArg_ParseTuple(args, "OOOOOd", &places, &constants, &p, &R, &u, &gravity))
        return NULL;
    Held held = {.postures = -1};
    State s;
    Link *links = NULL;
    const Py_ssize_t joints = length_of(u);
    if (joints < 0 || hold_tree(&held, places, constants, joints) || hold_poses(&held, p, R, 0, &s) ||
        hold_joints(&held, u, "u", PyBUF_WRITABLE, &s.u) || !(links = scratch(held.tree.links, sizeof(Link))))
        return finish(&held, links);
    Py_BEGIN_ALLOW_THREADS
    all_weights(&held.tree, &s, held.postures, gravity, links);
    Py_END_ALLOW_THREADS
    return finish(&held, links);
}

static PyObject *inertias(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *places, *constants, *p, *R, *matrix;
    Py_ssize_t joints, first;
    if (!PyArg_ParseTuple(args, "OOOOOnn", &places, &constants, &p, &R, &matrix, &joints, &first))
        return NULL;
    Held held = {.postures = -1};
    State s;
    Matrix M = {.first = first};
    Composite *links = NULL;
    const Py_ssize_t width = length_of(matrix);
    M.columns = first + width;
    if (joints < 0 || joints > INT32_MAX)
        PyErr_SetString(PyExc_ValueError, "the number of joints is out of range");
    else if (width >= 0 && ((first != 0 && first != 6) || (M.columns != 6 && M.columns != 6 + joints)))
        PyErr_SetString(PyExc_ValueError, "the matrix must have 6 columns, or those of root and joints");
    if (PyErr_Occurred() || hold_tree(&held, places, constants, joints) || hold_poses(&held, p, R, 0, &s) ||
        hold_array(&held, matrix, "matrix", PyBUF_WRITABLE, 2, (Py_ssize_t[]){6 + joints - first, width},
                   &M.array) ||
        !(links = scratch(held.tree.links, sizeof(Composite))))
        return finish(&held, links);
    Py_BEGIN_ALLOW_THREADS
    all_inertias(&held.tree, &s, held.postures, &M, links);
    Py_END_ALLOW_THREADS
    return finish(&held, links);
}

static PyMethodDef methods[] = {
    {"poses", poses, METH_VARARGS, "Write the poses of all links but the root."},
    {"columns", columns, METH_VARARGS, "Write the velocity of a point per unit of joint velocity."},
    {"motions", motions, METH_VARARGS, "Write the motions of all links but the root."},
    {"forces", forces, METH_VARARGS, "Write motions, joint efforts and the wrench on one link."},
    {"weights", weights, METH_VARARGS, "Write the joint efforts that balance gravity."},
    {"inertias", inertias, METH_VARARGS, "Write the inertia matrix, or its first six columns."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "hrp_model.kinematics._dynamics",
    .m_doc = "Motions, forces and inertias of a tree of links in many postures.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__dynamics(void)
{
    return PyModuleDef_Init(&definition);
}
