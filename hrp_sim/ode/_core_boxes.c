/* Boxes that lie flat on each other, where ODE loses them. */
#include "_core.h"

#include <math.h>
#include <string.h>

#define PARALLEL 1e-8 /* sine of the angle below which edges count as parallel */
#define TILT 1e-7     /* [rad] */
#define FLAT 3        /* boxes that lie flat on each other touch in as many points at least */
#define DEEPER 1e-6   /* than what the tilt does to the depth, in [m] */

/* Whether edges of two boxes are parallel but for rounding.
 *
 * The separating axis of two such edges is their cross product: rounding errors divided by
 * a length of the same size. ODE takes it for an axis as any other, and one in ten
 * pairs of boxes with the same oblique rotation do not touch for it. Where the product
 * is zero ODE leaves it out, as it should.
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

/* Return a box that stands for this one, tilted so little that no contact feels it. */
static dGeomID tilted(dGeomID stand_in, dGeomID box)
{
    dVector3 size;
    dMatrix3 tilt, R;
    dGeomBoxGetLengths(box, size);
    dRFromAxisAndAngle(tilt, 1.0, 2.0, 3.0, TILT);
    dMultiply0_333(R, dGeomGetRotation(box), tilt);
    const dReal *p = dGeomGetPosition(box);
    dGeomBoxSetLengths(stand_in, size[0], size[1], size[2]);
    dGeomSetPosition(stand_in, p[0], p[1], p[2]);
    dGeomSetRotation(stand_in, R);
    return stand_in;
}

/* Find the contacts of two shapes: ODE's, or those that it would find if it did not lose them. */
int shapes_collide(const World *world, dGeomID a, dGeomID b, int most, dContactGeom *found)
{
    int count = dCollide(a, b, most, found, sizeof *found);
    if (count >= FLAT || dGeomGetClass(a) != dBoxClass || dGeomGetClass(b) != dBoxClass ||
        !are_nearly_parallel(dGeomGetRotation(a), dGeomGetRotation(b)))
        return count;
    dContactGeom first[FLAT];
    memcpy(first, found, (size_t)count * sizeof *found);
    int now = dCollide(a, tilted(world->stand_in, b), most, found, sizeof *found);
    for (int i = 0; now > count && i < now; i++)
        if (found[i].depth > DEEPER)
            return now;
    memcpy(found, first, (size_t)count * sizeof *found);
    return count;
}
