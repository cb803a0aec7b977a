/* Contacts of two shapes, also of boxes that lie flat on each other, some of which ODE misses. */
#include "_core_collision.h"

#include <math.h>
#include <string.h>

#define PARALLEL 1e-8 /* sine of the angle below which edges count as parallel */
#define TILT 1e-7     /* [rad] */
#define FLAT_CONTACTS 3  /* fewest contact points of boxes that lie flat on each other */
#define MIN_DEPTH 1e-6   /* more than the tilt changes the depth, in [m] */

/* Whether edges of two boxes are parallel up to rounding, but not exactly.
 *
 * ODE tests the cross product of two edges as a separating axis. For nearly parallel edges it is
 * a rounding error divided by a length of the same size, an arbitrary direction: ODE misses the
 * contact of one in ten pairs of boxes with the same oblique rotation. ODE skips a product that is
 * exactly zero.
 */
static int are_nearly_parallel(const dReal *R_a, const dReal *R_b)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            dReal cosine = R_a[i] * R_b[j] + R_a[4 + i] * R_b[4 + j] + R_a[8 + i] * R_b[8 + j];
            if (cosine != 0.0 && fabs(cosine) < PARALLEL)
                return 1;
        }
    return 0;
}

/* Place the substitute box on another box, tilted by too little to affect contacts. */
static dGeomID tilted(dGeomID substitute_box, dGeomID box)
{
    dVector3 size;
    dMatrix3 tilt, R;
    dGeomBoxGetLengths(box, size);
    dRFromAxisAndAngle(tilt, 1.0, 2.0, 3.0, TILT);
    dMultiply0_333(R, dGeomGetRotation(box), tilt);
    const dReal *p = dGeomGetPosition(box);
    dGeomBoxSetLengths(substitute_box, size[0], size[1], size[2]);
    dGeomSetPosition(substitute_box, p[0], p[1], p[2]);
    dGeomSetRotation(substitute_box, R);
    return substitute_box;
}

/* Find the contacts of two shapes; retry boxes that lie flat on each other with one of them
 * tilted. Returns their number, or -1 if ODE fails. */
static int shapes_find(const World *world, dGeomID a, dGeomID b, PatchPoint *found)
{
    int count = guarded_collide(a, b, MAX_FOUND, &found->at, sizeof *found);
    if (count < 0 || count >= FLAT_CONTACTS || dGeomGetClass(a) != dBoxClass ||
        dGeomGetClass(b) != dBoxClass ||
        !are_nearly_parallel(dGeomGetRotation(a), dGeomGetRotation(b)))
        return count;
    PatchPoint first[FLAT_CONTACTS];
    memcpy(first, found, (size_t)count * sizeof *found);
    int now = dCollide(a, tilted(world->substitute_box, b), MAX_FOUND, &found->at, sizeof *found);
    for (int i = 0; now > count && i < now; i++)
        if (found[i].at.depth > MIN_DEPTH)
            return now;
    memcpy(found, first, (size_t)count * sizeof *found);
    return count;
}

/* Append the contacts of two shapes, whose bounds were placed. */
void shapes_collide(World *world, Patch *patch, const Geom *a, const Geom *b)
{
    if (face_collide(patch, a, b) || meshes_collide(world, patch, a, b))
        return;
    PatchPoint *found = patch_reserve(patch, MAX_FOUND);
    int count = shapes_find(world, a->geom, b->geom, found);
    if (count < 0) {
        world->collide_failed = 1;
        return;
    }
    patch->count += count;
    for (int i = 0; i < count; i++) {
        found[i].a = a;
        found[i].b = b;
    }
}
