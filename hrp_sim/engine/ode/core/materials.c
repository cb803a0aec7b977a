/* Friction and restitution of every pair of contact materials, and what shapes declare instead. */
#include "materials.h"
#include "articulation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Impacts slower than what gravity adds in this many steps do not bounce: bodies at rest hit the
   ground with that speed in every step. */
#define MIN_BOUNCE_STEPS 2.0
#define MIN_BOUNCE_SPEED 1e-4 /* [m/s] */

#define MIN_FRICTION_RATIO 1e-5 /* of both directions: solvers have rows for both or none */
#define MIN_IMPEDANCE 1e-12 /* of the spring and damper of a contact in a step, in [N s/m] */
#define MIN_ALONG 1e-6 /* sine of the angle to the normal of a direction of friction */
#define NO_COLLISION (-1.0) /* the friction of two materials that do not collide */

/* Check that each value of a symmetric matrix lies between 0 and max or is a special one. */
static int matrix_check(const double *matrix, int count, double max, double special,
                        const char *name, char *problem)
{
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < count; j++) {
            double value = matrix[i * count + j];
            int is_valid = (value >= 0.0 && value <= max) || value == special;
            if (!is_valid || value != matrix[j * count + i]) {
                hrp_problem_set(problem, "%s[%d, %d] is out of range or not symmetric", name, i, j);
                return 0;
            }
        }
    }
    return 1;
}

static void *array_copy(const void *from, size_t size)
{
    void *copy = malloc(size);
    if (copy)
        memcpy(copy, from, size);
    return copy;
}

void hrp_materials_free(World *world)
{
    free(world->friction);
    free(world->restitution);
    free(world->prevails);
    world->friction = world->restitution = NULL;
    world->prevails = NULL;
    world->materials = 0;
}

int hrp_materials_set(World *world, int count, const double *friction, const double *restitution,
                      const int *prevails, char *problem)
{
    const size_t size = sizeof(double) * (size_t)count * (size_t)count;
    if (!matrix_check(friction, count, 1e6, NO_COLLISION, "friction", problem) ||
        !matrix_check(restitution, count, 1.0, 0.0, "restitution", problem))
        return 0;
    hrp_materials_free(world);
    world->friction = array_copy(friction, size);
    world->restitution = array_copy(restitution, size);
    world->prevails = array_copy(prevails, sizeof(int) * (size_t)count);
    if (!world->friction || !world->restitution || !world->prevails)
        return 0;
    world->materials = count;
    return 1;
}

int hrp_materials_collide(const World *world, int a, int b)
{
    return world->friction[(size_t)a * (size_t)world->materials + (size_t)b] != NO_COLLISION;
}

/* What two shapes have together. */
typedef struct {
    dReal friction[2], restitution, bounce_speed, stiffness, damping;
} PairSurface;

/* Return a number of which the negative is not declared. */
static dReal declared(dReal value, dReal otherwise)
{
    return value >= 0.0 ? value : otherwise;
}

/* Return a coefficient of friction of a shape, in contact with one that adds none. */
static dReal own_friction(const Surface *surface, int i, dReal of_table)
{
    return surface->is_frictionless != 0.0 ? 0.0 : declared(surface->friction[i], of_table);
}

/* Combine two coefficients of friction, of which one is not declared if its shape is NULL. */
static dReal friction_combine(const Surface *a, const Surface *b, int i, dReal of_table)
{
    if (!a || !b)
        return min_real(own_friction(a ? a : b, i, of_table), of_table);
    dReal of_a = own_friction(a, i, of_table), of_b = own_friction(b, i, of_table);
    if (a->rule != RULE_LARGER || b->rule != RULE_LARGER)
        return min_real(of_a, of_b);
    if (a->priority != b->priority)
        return a->priority > b->priority ? of_a : of_b;
    if (a->is_frictionless != 0.0 && b->is_frictionless != 0.0)
        return 0.0;
    return max_real(declared(a->friction[i], of_table), declared(b->friction[i], of_table));
}

/* Add a spring in series to that of a pair. */
static void spring_add(PairSurface *both, const Surface *surface)
{
    if (!surface || !(surface->stiffness > 0.0))
        return;
    both->stiffness = both->stiffness > 0.0
                          ? 1.0 / (1.0 / both->stiffness + 1.0 / surface->stiffness)
                          : surface->stiffness;
    both->damping += surface->damping;
}

/* Combine what both shapes declare, at least one of them, with the table's values of the pair; see
 * SurfaceRule. */
static void surfaces_combine(const Surface *a, const Surface *b, PairSurface *both)
{
    for (int i = 0; i < 2; i++)
        both->friction[i] = friction_combine(a, b, i, both->friction[i]);
    const Surface *bouncing[2] = {a, b};
    for (int k = 0; k < 2; k++)
        if (bouncing[k] && bouncing[k]->restitution < 0.0)
            bouncing[k] = NULL;
    if (bouncing[0] && bouncing[1]) {
        both->restitution = min_real(a->restitution, b->restitution);
        both->bounce_speed = min_real(a->bounce_speed, b->bounce_speed);
    } else if (bouncing[0] || bouncing[1]) {
        const Surface *only = bouncing[0] ? bouncing[0] : bouncing[1];
        both->restitution = only->restitution;
        both->bounce_speed = only->bounce_speed;
    }
    spring_add(both, a);
    spring_add(both, b);
}

static int has_direction(const Geom *shape)
{
    return shape->surface && dot3(shape->surface->along, shape->surface->along) > 0.0;
}

/* Set the direction of the first coefficient of friction: that of the shape with the smaller one,
 * if both have one. Returns 0 if there is none along the contact. */
static int direction_set(const Geom *a, const Geom *b, dContact *contact)
{
    const Geom *shape = has_direction(a) ? a : b;
    const dReal *normal = contact->geom.normal;
    if (!has_direction(shape))
        return 0;
    if (shape == a && has_direction(b) && a->surface->friction[0] > b->surface->friction[0])
        shape = b;
    rotate4(contact->fdir1, dGeomGetRotation(shape->geom), shape->surface->along);
    dReal up = dot3(contact->fdir1, normal), whole = dot3(contact->fdir1, contact->fdir1);
    for (int i = 0; i < 3; i++)
        contact->fdir1[i] -= up * normal[i];
    dReal square = dot3(contact->fdir1, contact->fdir1);
    if (!(square > MIN_ALONG * MIN_ALONG * whole))
        return 0;
    for (int i = 0; i < 3; i++)
        contact->fdir1[i] /= sqrt(square);
    return 1;
}

/* Whether a spring between two shapes is soft enough for a step to resolve it, so that it holds
 * what presses on it. Stiffer ones are like rigid contacts. */
static int is_soft(dReal h, const PairSurface *both, const Geom *a, const Geom *b)
{
    const Geom *shapes[2] = {a, b};
    dReal mobility = 0.0;
    for (int i = 0; i < 2; i++) {
        dBodyID body = dGeomGetBody(shapes[i]->geom);
        dMass mass;
        if (!body)
            continue;
        dBodyGetMass(body, &mass);
        mobility += 1.0 / mass.mass;
    }
    return h * h * both->stiffness * mobility < 1.0;
}

void hrp_contact_surface(const World *world, const Geom *a, const Geom *b, dContact *contact)
{
    size_t pair = (size_t)a->material * (size_t)world->materials + (size_t)b->material;
    int other = a->material ? a->material : b->material;
    dReal h = world->step, mu = world->friction[pair];
    dSurfaceParameters *surface = &contact->surface;
    PairSurface both = {.friction = {mu, mu}, .restitution = world->restitution[pair]};
    if ((a->surface || b->surface) && !world->prevails[other])
        surfaces_combine(a->surface, b->surface, &both);
    surface->mode = dContactApprox1;
    surface->mu = both.friction[0];
    if (both.friction[0] != both.friction[1]) {
        if (direction_set(a, b, contact)) {
            dReal least = MIN_FRICTION_RATIO * max_real(both.friction[0], both.friction[1]);
            surface->mode |= dContactFDir1 | dContactMu2;
            surface->mu = max_real(both.friction[0], least);
            surface->mu2 = max_real(both.friction[1], least);
        } else {
            surface->mu = min_real(both.friction[0], both.friction[1]);
        }
    }
    if (both.restitution > 0.0) {
        dVector3 gravity;
        dWorldGetGravity(world->world, gravity);
        dReal pull = fabs(dot3(gravity, contact->geom.normal));
        surface->mode |= dContactBounce;
        surface->bounce = both.restitution;
        surface->bounce_vel =
            max_real(max_real(MIN_BOUNCE_STEPS * pull * h, MIN_BOUNCE_SPEED), both.bounce_speed);
    }
    if (both.stiffness > 0.0 && is_soft(h, &both, a, b)) {
        surface->mode |= dContactSoftERP | dContactSoftCFM;
        surface->soft_cfm = 1.0 / max_real(h * both.stiffness + both.damping, MIN_IMPEDANCE);
        surface->soft_erp = h * both.stiffness * surface->soft_cfm;
    }
}
