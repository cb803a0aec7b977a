/* Contacts of two shapes: those that ODE finds, those of boxes that lie flat on each other, some
 * of which it misses, and those of a mesh or a cylinder with a single face of a box, such as a
 * floor.
 *
 * ODE cuts every triangle that touches the box and compares every contact point with all others,
 * at a cost that grows with the square of the triangles. If the mesh reaches only one face, and
 * that less deep than it is away from the others, the contacts are simply the corners of triangles
 * that lie below this face. They are found in blocks of neighbouring corners.
 *
 * Of a cylinder that lies on a box, ODE returns points somewhere on the line of contact, which
 * change with its posture up to rounding. Here they are the lowest points of both rims, and on
 * each rim three more at right angles, on which a cylinder stands.
 */
#include "shape_contacts.h"
#include "contact_set.h"
#include "guard.h"
#include "mesh.h"

#include <math.h>
#include <string.h>

#define PARALLEL 1e-8 /* sine of the angle below which edges count as parallel */
#define TILT 1e-7     /* [rad] */
#define FLAT_CONTACTS 3  /* fewest contact points of boxes that lie flat on each other */
#define MIN_DEPTH 1e-6   /* more than the tilt changes the depth, in [m] */
#define NEAR_FACE 1e-6    /* points that are nearly as deep as those that touch, in [m] */
#define UPRIGHT_TILT 1e-9 /* sine: the lowest direction of a less tilted cylinder is rounding */

/* A face of a box: its axis in the box's frame, and the side of the box. */
typedef struct {
    int axis;
    dReal side;
} Face;

/* Find the only face of a box that a shape reaches, less deep than it is away from all others.
 * Returns 0 if there is none. */
static int face_find(const Bound *shape, const Bound *box, Face *face)
{
    dReal depth = -1.0, room = dInfinity, away[3];
    for (int i = 0; i < 3; i++)
        away[i] = shape->p[i] - box->p[i];
    for (int k = 0; k < 3; k++) {
        dReal middle = 0.0, reach = 0.0;
        for (int i = 0; i < 3; i++)
            middle += box->R[3 * i + k] * away[i];
        for (int j = 0; j < 3; j++) {
            dReal turned = 0.0;
            for (int i = 0; i < 3; i++)
                turned += box->R[3 * i + k] * shape->R[3 * i + j];
            reach += fabs(turned) * shape->half[j];
        }
        dReal inside = box->half[k] - fabs(middle) - reach;
        if (inside > 0.0) {
            room = min_real(room, inside);
        } else if (depth < 0.0) {
            *face = (Face){k, middle < 0.0 ? -1.0 : 1.0};
            depth = box->half[k] - fabs(middle) + reach;
            room = min_real(room, 2.0 * box->half[k] - depth);
        } else {
            return 0;
        }
    }
    return depth >= 0.0 && depth < room;
}

/* A shape above a face of a box. */
typedef struct {
    ContactSet *contacts;
    const Geom *a, *b, *shape; /* the contact's shapes, in order, and the one that is not the box */
    dReal up[3]; /* normal of the face, in W */
    dReal height; /* of the face along it, from the shape's origin */
} Above;

static Above above_of(ContactSet *contacts, const Geom *a, const Geom *b, int is_first,
                      const Face *face)
{
    Above above = {.contacts = contacts, .a = a, .b = b, .shape = is_first ? a : b};
    const Bound *box = is_first ? &b->now : &a->now;
    const dReal *p = dGeomGetPosition(above.shape->geom);
    dReal away[3];
    for (int i = 0; i < 3; i++) {
        above.up[i] = face->side * box->R[3 * i + face->axis];
        away[i] = p[i] - box->p[i];
    }
    above.height = box->half[face->axis] - dot3(above.up, away);
    return above;
}

/* Add a point, in the axes of W from the shape's origin. The normal points into the first shape. */
static void point_add(const Above *above, const dReal from[3], dReal depth)
{
    const dReal *p = dGeomGetPosition(above->shape->geom);
    ContactPoint *point = hrp_contact_set_append(above->contacts, above->a, above->b);
    for (int k = 0; k < 3; k++) {
        point->at.pos[k] = p[k] + from[k];
        point->at.normal[k] = above->a == above->shape ? above->up[k] : -above->up[k];
    }
    point->at.depth = depth;
    point->at.g1 = above->a->geom;
    point->at.g2 = above->b->geom;
}

/* Add the corners of a mesh below a face of a box. */
static void corners_add(const Above *above)
{
    const Mesh *mesh = dGeomGetData(above->shape->geom);
    const dReal *R = dGeomGetRotation(above->shape->geom);
    dReal normal[3], from[3];
    unrotate4(normal, R, above->up);
    for (int first = 0; first < mesh->point_count; first += BLOCK_POINTS) {
        const dReal *bounds = mesh->boxes[first / BLOCK_POINTS];
        dReal lowest = 0.0;
        for (int k = 0; k < 3; k++)
            lowest += normal[k] * bounds[2 * k + (normal[k] < 0.0)];
        if (lowest > above->height + NEAR_FACE)
            continue;
        for (int i = first; i < first + BLOCK_POINTS && i < mesh->point_count; i++) {
            dReal depth = above->height - dot3(normal, mesh->points[i]);
            if (!(depth >= -NEAR_FACE))
                continue;
            rotate4(from, R, mesh->points[i]);
            point_add(above, from, depth);
        }
    }
}

/* Add points of the rims of a cylinder below a face of a box. */
static void rims_add(const Above *above)
{
    const dReal *R = dGeomGetRotation(above->shape->geom), axis[3] = {R[2], R[6], R[10]};
    const dReal tilt = dot3(axis, above->up);
    dReal radius, length, along[2][3];
    dGeomCylinderGetParams(above->shape->geom, &radius, &length);
    for (int i = 0; i < 3; i++)
        along[0][i] = tilt * axis[i] - above->up[i]; /* the lowest direction across the axis */
    dReal across = sqrt(dot3(along[0], along[0]));
    for (int i = 0; i < 3; i++)
        along[0][i] = across > UPRIGHT_TILT ? along[0][i] / across : R[4 * i];
    cross3(along[1], axis, along[0]);
    for (int rim = 0; rim < 8; rim++) {
        const dReal side = rim < 4 ? 0.5 * length : -0.5 * length;
        const dReal out = rim % 4 < 2 ? radius : -radius;
        dReal from[3];
        for (int i = 0; i < 3; i++)
            from[i] = side * axis[i] + out * along[rim % 2][i];
        const dReal depth = above->height - dot3(above->up, from);
        if (depth >= -NEAR_FACE)
            point_add(above, from, depth);
    }
}

/* Add the contacts of a mesh or a cylinder with the only face of a box that it reaches. Returns 0
 * if the shapes are others. */
static int face_collide(ContactSet *contacts, const Geom *a, const Geom *b)
{
    const int is_first = dGeomGetClass(b->geom) == dBoxClass;
    const Geom *shape = is_first ? a : b, *box = is_first ? b : a;
    const int kind = dGeomGetClass(shape->geom);
    Face face = {0, 1.0};
    if ((kind != dTriMeshClass && kind != dCylinderClass) ||
        dGeomGetClass(box->geom) != dBoxClass || !face_find(&shape->now, &box->now, &face))
        return 0;
    const Above above = above_of(contacts, a, b, is_first, &face);
    const int before = contacts->count;
    dReal deepest = -1.0;
    if (kind == dTriMeshClass)
        corners_add(&above);
    else
        rims_add(&above);
    for (int i = before; i < contacts->count; i++)
        deepest = max_real(deepest, contacts->points[i].at.depth);
    if (deepest < 0.0)
        contacts->count = before;
    return 1;
}

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
static int shapes_find(const World *world, dGeomID a, dGeomID b, ContactPoint *found)
{
    int count = hrp_guarded_collide(a, b, MAX_FOUND, &found->at, sizeof *found);
    if (count < 0 || count >= FLAT_CONTACTS || dGeomGetClass(a) != dBoxClass ||
        dGeomGetClass(b) != dBoxClass ||
        !are_nearly_parallel(dGeomGetRotation(a), dGeomGetRotation(b)))
        return count;
    ContactPoint first[FLAT_CONTACTS];
    memcpy(first, found, (size_t)count * sizeof *found);
    int now = dCollide(a, tilted(world->substitute_box, b), MAX_FOUND, &found->at, sizeof *found);
    for (int i = 0; now > count && i < now; i++)
        if (found[i].at.depth > MIN_DEPTH)
            return now;
    memcpy(found, first, (size_t)count * sizeof *found);
    return count;
}

void hrp_shapes_collide(World *world, ContactSet *contacts, const Geom *a, const Geom *b)
{
    if (face_collide(contacts, a, b) || hrp_meshes_collide(world, contacts, a, b))
        return;
    ContactPoint *found = hrp_contact_set_reserve(contacts, MAX_FOUND);
    int count = shapes_find(world, a->geom, b->geom, found);
    if (count < 0) {
        world->collide_failed = 1;
        return;
    }
    contacts->count += count;
    for (int i = 0; i < count; i++) {
        found[i].a = a;
        found[i].b = b;
    }
}
