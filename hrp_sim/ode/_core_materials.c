/* Friction and restitution of every pair of contact materials. */
#include "_core.h"

#include <math.h>

/* Impacts slower than what gravity adds in this many steps do not bounce: bodies at rest hit the
   ground with that speed in every step. */
#define MIN_BOUNCE_STEPS 2.0
#define MIN_BOUNCE_SPEED 1e-4 /* [m/s] */

#define NO_COLLISION (-1.0) /* the friction of two materials that do not collide */

/* Check that each value lies between 0 and max or is a special one. */
static int matrix_check(const double *matrix, Py_ssize_t count, double max, double special,
                        const char *name)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        for (Py_ssize_t j = 0; j < count; j++) {
            double value = matrix[i * count + j];
            int is_valid = (value >= 0.0 && value <= max) || value == special;
            if (!is_valid || value != matrix[j * count + i]) {
                PyErr_Format(PyExc_ValueError, "%s[%zd, %zd] is out of range or not symmetric",
                             name, i, j);
                return 0;
            }
        }
    }
    return 1;
}

static dReal *matrix_copy(const Py_buffer *view)
{
    dReal *copy = malloc((size_t)view->len);
    if (copy)
        memcpy(copy, view->buf, (size_t)view->len);
    else
        PyErr_NoMemory();
    return copy;
}

void materials_free(World *world)
{
    free(world->friction);
    free(world->restitution);
    world->friction = world->restitution = NULL;
    world->materials = 0;
}

/* Copy both matrices for use by contact_surface. */
PyObject *materials_set(World *world, PyObject *args)
{
    PyObject *objects[2], *result = NULL;
    Py_buffer views[2];
    int held = 0;
    if (!PyArg_ParseTuple(args, "OO", &objects[0], &objects[1]))
        return NULL;
    if (!world->world || world->count || world->busy)
        return PyErr_Format(PyExc_RuntimeError, "materials must be set before bodies are added");
    Py_ssize_t count = PyObject_Length(objects[0]);
    if (count < 1 || count > 10000)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError,
                                                      "there must be 1 to 10000 materials, not %zd",
                                                      count);
    for (; held < 2; held++)
        if (fetch_array(objects[held], NULL, 'd', count * count, 0, &views[held]))
            break;
    if (held == 2 && matrix_check(views[0].buf, count, 1e6, NO_COLLISION, "friction") &&
        matrix_check(views[1].buf, count, 1.0, 0.0, "restitution")) {
        materials_free(world);
        world->friction = matrix_copy(&views[0]);
        world->restitution = matrix_copy(&views[1]);
        if (world->friction && world->restitution) {
            world->materials = (int)count;
            result = Py_NewRef(Py_None);
        }
    }
    while (held > 0)
        PyBuffer_Release(&views[--held]);
    return result;
}

/* Whether shapes of these materials collide. */
int materials_collide(const World *world, int a, int b)
{
    return world->friction[(size_t)a * (size_t)world->materials + (size_t)b] != NO_COLLISION;
}

/* Set friction and restitution of a contact between two shapes. */
void contact_surface(const World *world, const Geom *a, const Geom *b, dContact *contact)
{
    size_t pair = (size_t)a->material * (size_t)world->materials + (size_t)b->material;
    dSurfaceParameters *surface = &contact->surface;
    surface->mode = dContactApprox1;
    surface->mu = world->friction[pair];
    if (world->restitution[pair] > 0.0) {
        dVector3 gravity;
        dWorldGetGravity(world->world, gravity);
        dReal pull = fabs(dot3(gravity, contact->geom.normal));
        surface->mode |= dContactBounce;
        surface->bounce = world->restitution[pair];
        surface->bounce_vel = max_real(MIN_BOUNCE_STEPS * pull * world->step, MIN_BOUNCE_SPEED);
    }
}
