/* Contact patches: which contact points belong to one, where they are in its plane, and the points
 * that stand for its area in friction.c.
 */
#include "patch.h"
#include "rows.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define SAME_DIRECTION 0.9999 /* cosine, 0.8 degrees */
#define MAX_MU 1e9
#define FLAT 1e-6         /* area of a patch that is a line, relative to its radius squared */
#define SKEW 1e-6         /* of a parallelogram, relative to its radius */
#define ON_RIM 0.02       /* distance from the rim of a cap, relative to its radius */
#define LINE_POINTS 24
#define REACH 0.28867513459481287 /* 1 / sqrt(12): the radius of gyration of a piece of a line */
#define GRID 3            /* pairs of points along each side of a square */
#define NARROW 4.0        /* square root of the aspect of quadrilaterals that are nearly lines */
#define RINGS 4
#define RING_POINTS 9
#define MAX_CORNERS 128   /* as World.max_contacts */

/* Contact points of one patch, counter-clockwise. One thread at a time is in ODE, so one is
 * enough. */
typedef struct {
    const dReal *at;
    dReal angle;
} Corner;
static Corner corners[MAX_CORNERS];

static dReal dot2(const dReal a[2], const dReal b[2])
{
    return a[0] * b[0] + a[1] * b[1];
}

static int is_parallel(const dReal a[3], const dReal b[3])
{
    return dot3(a, b) >= SAME_DIRECTION * sqrt(dot3(a, a) * dot3(b, b));
}

/* What the contacts of a patch have in common, besides both nodes and the normal. */
typedef struct {
    int cluster;
    dReal mu, along[2], tangent[3];
} Grip;

static Grip grip_of(const dSurfaceParameters *surface, const dReal *fdir1, int cluster)
{
    const dReal mu = min_real(surface->mu, MAX_MU);
    const dReal mu2 = surface->mode & dContactMu2 ? min_real(surface->mu2, MAX_MU) : mu;
    const dReal most = max_real(mu, mu2);
    Grip grip = {cluster, most, {1.0, 1.0}, {0.0}};
    if (mu == mu2)
        return grip;
    grip.along[0] = mu / most;
    grip.along[1] = mu2 / most;
    memcpy(grip.tangent, fdir1, sizeof grip.tangent);
    return grip;
}

/* Whether a contact belongs to a patch. */
static int belongs(const System *system, const Friction *friction, const Grip *grip,
                   const Touch *touch)
{
    const Touch *first = &system->touches[friction->touch];
    return friction->cluster == grip->cluster && friction->corners < MAX_CORNERS &&
           first->first == touch->first && first->second == touch->second &&
           friction->mu == grip->mu && friction->along[0] == grip->along[0] &&
           friction->along[1] == grip->along[1] && is_parallel(first->normal, touch->normal) &&
           is_parallel(friction->tangent, grip->tangent);
}

void hrp_friction_join(System *system, Touch *touch, const dContact *contact, int cluster,
                       dReal cap)
{
    const Grip grip = grip_of(&contact->surface, contact->fdir1, cluster);
    const int number = (int)(touch - system->touches);
    Friction *friction = system->frictions + system->first_friction;
    Friction *end = system->frictions + system->friction_count;
    touch->next = -1;
    touch->friction = 0;
    while (friction < end && !belongs(system, friction, &grip, touch))
        friction++;
    if (friction < end) {
        system->touches[friction->last].next = number;
    } else {
        if (!hrp_array_reserve(&system->frictions, &system->friction_capacity,
                               system->friction_count + 1, sizeof *friction)) {
            system->is_short = 1;
            return;
        }
        friction = &system->frictions[system->friction_count++];
        memset(friction, 0, offsetof(Friction, J_first));
        friction->first = touch->first;
        friction->second = touch->second;
        friction->touch = number;
        friction->cluster = cluster;
        friction->cap = cap;
        friction->mu = grip.mu;
        memcpy(friction->along, grip.along, sizeof grip.along);
        memcpy(friction->tangent, grip.tangent, sizeof grip.tangent);
    }
    friction->last = number;
    friction->corners++;
    touch->friction = (int)(friction - system->frictions);
}

/* Set the rows of a patch, through the middle of its contact points. */
static void rows_set(const System *system, Friction *friction, const dReal *normal)
{
    dReal arms[2][3] = {{0.0}}, *tangent = friction->tangent;
    dVector3 along[2];
    if (dot3(tangent, tangent) > 0.0) {
        cross3(along[1], normal, tangent);
        const dReal length = sqrt(dot3(along[1], along[1]));
        for (int i = 0; i < 3; i++)
            along[1][i] /= length;
        cross3(along[0], along[1], normal);
    } else {
        dPlaneSpace(normal, along[0], along[1]);
    }
    const int nodes[2] = {friction->first, friction->second};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 3 && nodes[k] != WORLD_NODE; i++)
            arms[k][i] = friction->middle[i] - system->nodes[nodes[k]].motion.p[i];
    for (int r = 0; r < 2; r++)
        hrp_point_row(friction->J_first + 6 * r, friction->J_second + 6 * r, along[r], arms[0],
                      arms[1]);
    hrp_turn_row(friction->J_first + 12, friction->J_second + 12, normal);
    for (int r = 0; r < 3; r++)
        friction->before[r] =
            hrp_velocity_along(system, friction->first, friction->J_first + 6 * r) +
            hrp_velocity_along(system, friction->second, friction->J_second + 6 * r);
}

/* Place the contact points of a patch in its plane. */
static void corners_place(const System *system, Friction *friction)
{
    for_corners(system, friction, touch)
    {
        dReal away[3];
        for (int i = 0; i < 3; i++)
            away[i] = touch->p[i] - friction->middle[i];
        for (int k = 0; k < 2; k++)
            touch->at[k] = dot3(away, friction->J_first + 6 * k);
        friction->radius = max_real(friction->radius, dot2(touch->at, touch->at));
    }
    friction->radius = sqrt(friction->radius);
}

void hrp_patch_motion(const System *system, const Friction *friction, size_t velocity,
                      dReal motion[3])
{
    dReal turns = 0.0, square = 0.0;
    memset(motion, 0, 3 * sizeof(dReal));
    for_corners(system, friction, touch)
    {
        const dReal *v = (const dReal *)((const char *)touch + velocity);
        const dReal x = dot3(v, friction->J_first), y = dot3(v, friction->J_first + 6);
        motion[0] += x / friction->corners;
        motion[1] += y / friction->corners;
        turns += touch->at[0] * y - touch->at[1] * x;
        square += dot2(touch->at, touch->at);
    }
    motion[2] = square > 0.0 ? turns / square : 0.0;
}

void hrp_patch_plane_set(const System *system, Friction *friction)
{
    dVector3 normal = {0.0};
    for_corners(system, friction, touch)
    {
        for (int i = 0; i < 3; i++) {
            friction->middle[i] += touch->p[i] / friction->corners;
            normal[i] += touch->normal[i];
        }
    }
    const dReal length = sqrt(dot3(normal, normal));
    for (int i = 0; i < 3; i++)
        normal[i] /= length;
    dReal surface[3];
    rows_set(system, friction, normal);
    corners_place(system, friction);
    hrp_patch_motion(system, friction, offsetof(Touch, surface), surface);
    for (int r = 0; r < 3; r++)
        friction->before[r] -= surface[r];
}

static dReal cross_of(const dReal a[2], const dReal b[2])
{
    return a[0] * b[1] - a[1] * b[0];
}

/* Return a number that increases with the angle of a vector. */
static dReal pseudo_angle(const dReal at[2])
{
    const dReal sum = fabs(at[0]) + fabs(at[1]);
    const dReal share = sum > 0.0 ? at[0] / sum : 1.0;
    return at[1] < 0.0 ? share : 2.0 - share;
}

/* List the corners of a patch counter-clockwise. */
static void corners_list(const System *system, const Friction *friction)
{
    int count = 0;
    for_corners(system, friction, touch)
    {
        const Corner corner = {touch->at, pseudo_angle(touch->at)};
        int place = count++;
        for (; place > 0 && corners[place - 1].angle > corner.angle; place--)
            corners[place] = corners[place - 1];
        corners[place] = corner;
    }
}

/* Twice the area of the triangle of the middle, a corner and the next one. */
static dReal wedge_of(const Friction *friction, int c)
{
    return max_real(cross_of(corners[c].at, corners[(c + 1) % friction->corners].at), 0.0);
}

/* Whether the patch is the whole cap of a cylinder. */
static int is_cap(const Friction *friction)
{
    for (int c = 0; c < friction->corners; c++)
        if (!(fabs(hypot(corners[c].at[0], corners[c].at[1]) - friction->cap) <
              ON_RIM * friction->cap))
            return 0;
    return 1;
}

/* Keep the two corners that are farthest apart. */
static void longest_line_find(const Friction *friction)
{
    Corner ends[2] = {corners[0], corners[1]};
    dReal longest = -1.0;
    for (int i = 0; i < friction->corners; i++)
        for (int k = i + 1; k < friction->corners; k++) {
            const dReal length =
                hypot(corners[k].at[0] - corners[i].at[0], corners[k].at[1] - corners[i].at[1]);
            if (length > longest) {
                longest = length;
                ends[0] = corners[i];
                ends[1] = corners[k];
            }
        }
    memcpy(corners, ends, sizeof ends);
}

/* Set mean and variance of the area of a polygon, whose corners are listed. */
static void polygon_measure(Friction *friction, dReal twice_area)
{
    dReal *mean = friction->mean, *variance = friction->variance;
    for (int c = 0; c < friction->corners; c++) {
        const dReal *a = corners[c].at, *b = corners[(c + 1) % friction->corners].at;
        const dReal share = wedge_of(friction, c) / twice_area;
        for (int k = 0; k < 2; k++)
            mean[k] += share * (a[k] + b[k]) / 3.0;
        variance[0] += share * (a[0] * a[0] + a[0] * b[0] + b[0] * b[0]) / 6.0;
        variance[1] +=
            share * (2.0 * a[0] * a[1] + a[0] * b[1] + b[0] * a[1] + 2.0 * b[0] * b[1]) / 12.0;
        variance[2] += share * (a[1] * a[1] + a[1] * b[1] + b[1] * b[1]) / 6.0;
    }
    variance[0] -= mean[0] * mean[0];
    variance[1] -= mean[0] * mean[1];
    variance[2] -= mean[1] * mean[1];
}

static int is_parallelogram(dReal radius)
{
    dReal off = 0.0;
    for (int k = 0; k < 2; k++)
        off += fabs(corners[0].at[k] - corners[1].at[k] + corners[2].at[k] - corners[3].at[k]);
    return off < SKEW * radius;
}

void hrp_patch_area_set(const System *system, Friction *friction)
{
    dReal twice_area = 0.0;
    friction->area = AREA_POINT;
    friction->is_symmetric = 1;
    if (friction->corners == 1)
        return;
    corners_list(system, friction);
    for (int c = 0; c < friction->corners; c++)
        twice_area += wedge_of(friction, c);
    if (friction->corners == 2 || twice_area < FLAT * friction->radius * friction->radius) {
        longest_line_find(friction);
        const dReal *a = corners[0].at, *b = corners[1].at;
        const dReal half[2] = {0.5 * (b[0] - a[0]), 0.5 * (b[1] - a[1])};
        friction->area = AREA_LINE;
        for (int k = 0; k < 2; k++)
            friction->mean[k] = 0.5 * (a[k] + b[k]);
        friction->variance[0] = half[0] * half[0] / 3.0;
        friction->variance[1] = half[0] * half[1] / 3.0;
        friction->variance[2] = half[1] * half[1] / 3.0;
    } else if (friction->cap > 0.0 && is_cap(friction)) {
        friction->area = AREA_DISC;
        friction->variance[0] = friction->variance[2] = 0.25 * friction->cap * friction->cap;
    } else {
        friction->area = AREA_POLYGON;
        friction->is_symmetric = friction->corners == 4 && is_parallelogram(friction->radius);
        polygon_measure(friction, twice_area);
    }
}

/* Add a point. Its share is an area until all are known. */
static void point_add(System *system, Friction *friction, dReal x, dReal y, dReal share,
                      dReal reach)
{
    FrictionPoints *four = &system->friction_points[friction->points + friction->point_count / 4];
    const int side = friction->point_count++ % 4;
    if (side == 0)
        *four = (FrictionPoints){.x = {0.0}};
    four->x[side] = x;
    four->y[side] = y;
    four->reach[side] = reach;
    four->arm_a[side] = friction->along[0] * y;
    four->arm_b[side] = friction->along[1] * x;
    four->share[side] = share;
}

/* Add points along the line between the first two corners. */
static void line_add(System *system, Friction *friction)
{
    const dReal *a = corners[0].at, *b = corners[1].at;
    const dReal reach = REACH * hypot(b[0] - a[0], b[1] - a[1]) / LINE_POINTS;
    for (int i = 0; i < LINE_POINTS; i++) {
        const dReal u = (i + 0.5) / LINE_POINTS;
        point_add(system, friction, (1.0 - u) * a[0] + u * b[0], (1.0 - u) * a[1] + u * b[1], 1.0,
                  reach);
    }
}

/* The points of a side of a quadrilateral. */
typedef struct {
    int count;
    dReal reach;
} Side;

static Side side_of(dReal length, dReal other)
{
    const dReal aspect = sqrt(length / max_real(other, 1e-9 * length));
    if (aspect > NARROW)
        return (Side){LINE_POINTS, REACH * length / LINE_POINTS};
    return (Side){aspect < 1.0 / NARROW ? 1 : 2 * (int)max_real(GRID * aspect + 0.5, 1.0), 0.0};
}

/* Set the places of points along a side, from 0 to 1: pairs integrate by Gauss' rule, unless they
 * are a line. */
static void places_set(const Side *side, dReal places[LINE_POINTS])
{
    const int is_even = side->count == 1 || side->reach > 0.0;
    const dReal apart = is_even ? 0.0 : 0.5 - 1.0 / sqrt(3.0), each = 1.0 / side->count;
    for (int i = 0; i < side->count; i++)
        places[i] = (i + 0.5 + (i % 2 ? -apart : apart)) * each;
}

/* Add a grid of points on the quadrilateral of the corners: a + u b + v c + u v d. */
static void grid_add(System *system, Friction *friction)
{
    dReal length[2] = {0.0, 0.0}, us[LINE_POINTS], vs[LINE_POINTS];
    dReal b[2], c[2], d[2];
    for (int i = 0; i < 4; i++)
        length[i % 2] += 0.5 * hypot(corners[(i + 1) % 4].at[0] - corners[i].at[0],
                                     corners[(i + 1) % 4].at[1] - corners[i].at[1]);
    const Side columns = side_of(length[0], length[1]), rows = side_of(length[1], length[0]);
    const dReal *a = corners[0].at;
    for (int k = 0; k < 2; k++) {
        b[k] = corners[1].at[k] - a[k];
        c[k] = corners[3].at[k] - a[k];
        d[k] = corners[2].at[k] - a[k] - b[k] - c[k];
    }
    places_set(&columns, us);
    places_set(&rows, vs);
    for (int i = 0; i < columns.count; i++) {
        const dReal u = us[i], along_v[2] = {c[0] + u * d[0], c[1] + u * d[1]};
        for (int j = 0; j < rows.count; j++) {
            const dReal v = vs[j], along_u[2] = {b[0] + v * d[0], b[1] + v * d[1]};
            point_add(system, friction, a[0] + u * b[0] + v * along_v[0],
                      a[1] + u * b[1] + v * along_v[1], fabs(cross_of(along_u, along_v)),
                      columns.reach + rows.reach);
        }
    }
}

/* Add points on the triangles between the middle and the corners, parts x parts in each. */
static void fan_add(System *system, Friction *friction, int parts)
{
    for (int c = 0; c < friction->corners; c++) {
        const dReal *a = corners[c].at, *b = corners[(c + 1) % friction->corners].at;
        for (int i = 0; i < parts; i++)
            for (int j = 0; j < 2 * (parts - i) - 1; j++) { /* every other one points back */
                const dReal third = (j % 2 ? 2.0 : 1.0) / 3.0;
                const dReal u = (i + third) / parts, v = (j / 2 + third) / parts;
                point_add(system, friction, u * a[0] + v * b[0], u * a[1] + v * b[1],
                          wedge_of(friction, c), 0.0);
            }
    }
}

/* Add points on a disc, by Gauss' rule for the square of their distance. */
static void disc_add(System *system, Friction *friction)
{
    static const dReal square[RINGS] = {0.06943184420297371, 0.33000947820757187,
                                        0.6699905217924281, 0.9305681557970263};
    static const dReal weight[RINGS] = {0.17392742256872692, 0.32607257743127307,
                                        0.32607257743127307, 0.17392742256872692};
    for (int ring = 0; ring < RINGS; ring++)
        for (int i = 0; i < RING_POINTS; i++) {
            const dReal turn = 2.0 * M_PI * (i + (dReal)ring / RINGS) / RING_POINTS;
            const dReal away = friction->cap * sqrt(square[ring]);
            point_add(system, friction, away * cos(turn), away * sin(turn), weight[ring], 0.0);
        }
}

/* Whether the quadrilateral of four corners is convex. */
static int is_convex(void)
{
    for (int i = 0; i < 4; i++) {
        dReal a[2], b[2];
        for (int k = 0; k < 2; k++) {
            a[k] = corners[(i + 1) % 4].at[k] - corners[i].at[k];
            b[k] = corners[(i + 2) % 4].at[k] - corners[(i + 1) % 4].at[k];
        }
        if (!(cross_of(a, b) > 0.0))
            return 0;
    }
    return 1;
}

void hrp_patch_points_set(System *system, Friction *friction)
{
    friction->points = system->friction_point_count;
    friction->point_count = 0;
    if (friction->corners > 1)
        corners_list(system, friction);
    switch (friction->area) {
    case AREA_POINT:
        point_add(system, friction, 0.0, 0.0, 1.0, 0.0);
        break;
    case AREA_LINE:
        longest_line_find(friction);
        line_add(system, friction);
        break;
    case AREA_DISC:
        disc_add(system, friction);
        break;
    default:
        if (friction->corners == 4 && is_convex())
            grid_add(system, friction);
        else
            fan_add(system, friction, friction->corners < 8 ? 3 : friction->corners < 16 ? 2 : 1);
    }
    friction->points_end = friction->points + (friction->point_count + 3) / 4;
    system->friction_point_count = friction->points_end;
    FrictionPoints *point = system->friction_points;
    Quad area = {0.0};
    for (int i = friction->points; i < friction->points_end; i++)
        area += point[i].share;
    for (int i = friction->points; i < friction->points_end; i++)
        point[i].share /= sum_of(area);
}
