/* Friction of contact patches, for the exact solver.
 *
 * A patch is the contact points of two links that have one normal: the corners of a foot, both
 * ends of the line on which a wheel stands. Its load is spread over the patch with a pressure that
 * varies linearly, has the force and the moment of the normal impulses, and does not pull. At each
 * of some points, friction opposes the slip with mu times the point's share of the load, or holds
 * it with less (Coulomb). So a wheel pivots, and a disc or a box spins down, as with uniform
 * pressure, wherever the few contact points are (S. Goyal et al., Planar sliding with dry friction,
 * Wear 143, 1991).
 *
 * While a point holds, it yields: its slip at the bound is the same everywhere. The function that
 * the solver minimizes grows with the square of such a slip, and with the length of a longer one:
 * it is convex and smooth. Where mu differs along the two tangents, the slip is scaled by its
 * share along each, and the bound is an ellipse.
 */
#include "friction.h"
#include "patch.h"
#include "rows.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MIN_WEAK 0.01     /* smaller shares of mu are softer than contacts */
#define YIELD 5e-5        /* along the normal, in [m/s] */
#define HOLD_YIELD 2e-4   /* across it */
#define KEPT 0.9995        /* of what is held, in a step: stress within a jam relaxes */
#define MAX_TURN 4.0      /* of a patch that holds, relative to that at which its rim slips */
#define LEAST_PART 0.1    /* of a change of the load */
#define MAX_YIELDING 1e-3 /* relative to the mobility of the groups */
#define MAX_HOLD_YIELDING 0.02 /* likewise, along the patch */
#define SECANT 0.5        /* part of the slopes of a patch that is that of secants */
#define MAX_EVENED 1e-5   /* differences of depth, in [m] */

/* Let the contact points of a patch share its load evenly.
 *
 * Which point of a patch carries how much may depend on errors of joints of a nanometre: a wheel
 * on a hinge stands on the whole line of contact, but contacts are so stiff that it would load one
 * end alone. So points yield to a load that exceeds that of the others: by YIELD under all of it,
 * while none of it makes the patch sink. Deeper points are raised and others lowered in turn, so
 * that a patch does not tilt for ever.
 */
static void load_share(const System *system, const Friction *friction, dReal rate)
{
    dReal impulse = 0.0, depth = 0.0, raised = 0.0;
    for_corners(system, friction, touch)
    {
        impulse += touch->impulse_before / friction->corners;
        depth += touch->depth / friction->corners;
    }
    if (!(impulse > 0.0))
        return;
    for_corners(system, friction, touch)
    {
        touch->raised = rate * clamp(touch->depth - depth, -MAX_EVENED, MAX_EVENED);
        raised += touch->raised / friction->corners;
    }
    for_corners(system, friction, touch)
    {
        const dReal most = max_real(MAX_YIELDING * touch->mobility, touch->row.softness);
        touch->row.softness = clamp(YIELD / impulse, touch->row.softness, most);
        touch->yields = 1;
        touch->row.target +=
            KEPT * min_real(touch->row.softness * impulse, YIELD) + touch->raised - raised;
    }
}

typedef int64_t QuadMask __attribute__((vector_size(4 * sizeof(int64_t))));

INLINE Quad larger(Quad a, Quad b)
{
    const QuadMask mask = a > b;
    return (Quad)(((QuadMask)a & mask) | ((QuadMask)b & ~mask));
}

/* Set the slope of a patch, whose rows are scaled by their shares of mu: of points with stiffnesses
 * of the given sum, and its moments, less what they fall. */
INLINE void slope_set(const Friction *friction, Quad stiffness, const Quad moments[3],
                      const Quad falls[6], dReal slope[6])
{
    const dReal strong = friction->along[0], weak = friction->along[1], k = sum_of(stiffness);
    slope[0] = strong * strong * (k - sum_of(falls[0]));
    slope[1] = -strong * weak * sum_of(falls[1]);
    slope[2] = -strong * sum_of(moments[0] + falls[2]);
    slope[3] = weak * weak * (k - sum_of(falls[3]));
    slope[4] = weak * sum_of(moments[1] - falls[4]);
    slope[5] = sum_of(moments[2] - falls[5]);
}

/* Add the moments of stiffnesses k at four points. */
INLINE void moments_add(const FrictionPoints *p, Quad k, Quad moments[3])
{
    moments[0] += k * p->arm_a;
    moments[1] += k * p->arm_b;
    moments[2] += k * (p->arm_a * p->arm_a + p->arm_b * p->arm_b + p->reach * p->reach);
}

/* Bound friction at each point by its share of the load. Where the pressure would pull it is none,
 * and more elsewhere. While a point holds, it yields in proportion to its bound. */
WIDE static void bounds_set(const System *system, Friction *friction)
{
    FrictionPoints *points = system->friction_points + friction->points;
    FrictionPoints *end = system->friction_points + friction->points_end;
    Quad all = {0.0}, moments[3] = {{0.0}};
    const Quad none[6] = {{0.0}};
    for (FrictionPoints *p = points; p < end; p++) {
        const Quad pressure = 1.0 + friction->pressure[0] * (p->x - friction->mean[0]) +
                              friction->pressure[1] * (p->y - friction->mean[1]);
        p->bound = p->share * larger(pressure, (Quad){0.0});
        all += p->bound;
        moments_add(p, p->bound, moments);
    }
    const dReal sum = sum_of(all), most = sum > 0.0 ? friction->mu * friction->load / sum : 0.0;
    for (FrictionPoints *p = points; p < end; p++)
        p->bound *= most;
    slope_set(friction, all, moments, none, friction->hold);
    for (int k = 0; k < 6; k++)
        friction->hold[k] *= sum > 0.0 ? friction->stiffness / sum : 0.0;
}

/* Set the slope of a patch that holds, if any linear pressure leaves its second moments. */
static void hold_set(Friction *friction)
{
    const dReal k = friction->stiffness * friction->along[0] * friction->along[0];
    const dReal j = friction->stiffness * friction->along[1] * friction->along[1];
    const dReal *mean = friction->mean, *centre = friction->centre;
    const dReal xx = friction->variance[0] + mean[0] * (2.0 * centre[0] - mean[0]);
    const dReal yy = friction->variance[2] + mean[1] * (2.0 * centre[1] - mean[1]);
    const dReal hold[6] = {k, 0.0, -k * centre[1], j, j * centre[0], k * yy + j * xx};
    memcpy(friction->hold, hold, sizeof hold);
}

/* Place the centre of the load of a patch, and set the gradient of its pressure. */
static void pressure_set(const System *system, Friction *friction)
{
    const dReal *mean = friction->mean, *variance = friction->variance;
    dReal load = 0.0, moment[2] = {0.0, 0.0};
    for_corners(system, friction, touch)
    {
        load += touch->load;
        moment[0] += touch->load * touch->at[0];
        moment[1] += touch->load * touch->at[1];
    }
    friction->load = load;
    for (int k = 0; k < 2; k++) {
        friction->centre[k] = load > 0.0 ? moment[k] / load : mean[k];
        friction->pressure[k] = 0.0;
    }
    if (!(load > 0.0) || friction->corners == 1)
        return;
    const dReal least = 1e-9 * (variance[0] + variance[2]); /* a line has none across */
    const dReal xx = variance[0] + least, xy = variance[1], yy = variance[2] + least;
    const dReal x = friction->centre[0] - mean[0], y = friction->centre[1] - mean[1];
    friction->pressure[0] = (yy * x - xy * y) / (xx * yy - xy * xy);
    friction->pressure[1] = (xx * y - xy * x) / (xx * yy - xy * xy);
}

/* Whether the pressure of a patch is none too steep to be positive everywhere, and leaves its
 * second moments. */
static int is_even(const Friction *friction)
{
    const dReal *pressure = friction->pressure, *mean = friction->mean;
    const dReal steep = sqrt(pressure[0] * pressure[0] + pressure[1] * pressure[1]);
    const dReal reach = friction->radius + sqrt(mean[0] * mean[0] + mean[1] * mean[1]);
    return steep == 0.0 || (friction->is_symmetric && steep * reach < 1.0);
}

/* Bound the friction of a patch by the load of its contact points. */
static void friction_load(System *system, Friction *friction)
{
    pressure_set(system, friction);
    friction->is_known = 0;
    if (is_even(friction))
        hold_set(friction);
    else if (!friction->points_end)
        hrp_patch_points_set(system, friction);
    if (friction->points_end)
        bounds_set(system, friction);
}

/* Return the speed of the middle of a patch, each tangent scaled by its share. */
static dReal middle_speed(const Friction *friction, const dReal slip[3])
{
    const dReal x = friction->along[0] * slip[0], y = friction->along[1] * slip[1];
    return sqrt(x * x + y * y);
}

/* Set how much a patch yields while it holds: by HOLD_YIELD under the most that it may hold. */
static void stiffness_set(const System *system, Friction *friction)
{
    const Touch *touch = &system->touches[friction->touch];
    const dReal weak = max_real(min_real(friction->along[0], friction->along[1]), MIN_WEAK);
    const dReal most = friction->corners / (touch->rigid * weak * weak);
    const dReal least = min_real(1.0 / (MAX_HOLD_YIELDING * touch->mobility), most);
    dReal load = 0.0;
    for_corners(system, friction, corner) load += corner->impulse_before;
    friction->stiffness = load > 0.0 ? clamp(friction->mu * load / HOLD_YIELD, least, most) : most;
}

/* Let a patch stay stretched by the slip of the last step, unless that was so fast that only its
 * direction matters: what it held acts again, and it does not creep. A turn is remembered longer,
 * as points near its centre still hold while others slip. Newton's method begins with that slip. */
static void stretch_recall(const System *system, Friction *friction)
{
    dReal slip[3];
    hrp_patch_motion(system, friction, offsetof(Touch, slip_before), slip);
    const dReal yield = friction->mu * friction->load / friction->stiffness;
    const dReal stretch =
        middle_speed(friction, slip) + friction->radius * fabs(slip[2]) / MAX_TURN;
    const dReal kept = KEPT * min_real(1.0, yield / max_real(stretch, 1e-300));
    for (int r = 0; r < 3; r++) {
        friction->before[r] += kept * slip[r];
        friction->rate[r] = friction->load > 0.0 ? slip[r] - friction->before[r] : 0.0;
    }
}

void hrp_friction_slip(const Friction *friction, const Touch *touch, dReal slip[3])
{
    memset(slip, 0, 3 * sizeof(dReal));
    if (!(friction->mu > 0.0))
        return;
    const dReal turn = friction->before[2] + friction->rate[2];
    const dReal x = friction->before[0] + friction->rate[0] - turn * touch->at[1];
    const dReal y = friction->before[1] + friction->rate[1] + turn * touch->at[0];
    for (int i = 0; i < 3; i++)
        slip[i] = x * friction->J_first[i] + y * friction->J_first[6 + i];
}

int hrp_frictions_fill(const World *world, System *system)
{
    system->friction_point_count = 0;
    if (!hrp_array_reserve(&system->friction_points, &system->friction_point_capacity,
                           system->friction_count * MAX_PATCH_POINTS / 4, sizeof(FrictionPoints)))
        return 0;
    for (int f = 0; f < system->friction_count; f++) {
        Friction *friction = &system->frictions[f];
        const Touch *touch = &system->touches[friction->touch];
        if (friction->corners > 1 && touch->row.softness == touch->rigid)
            load_share(system, friction, system->erp / world->step);
        if (!(friction->mu > 0.0))
            continue;
        hrp_patch_plane_set(system, friction);
        hrp_patch_area_set(system, friction);
        stiffness_set(system, friction);
        friction_load(system, friction);
        stretch_recall(system, friction);
    }
    return 1;
}

dReal hrp_friction_lag(const System *system, const Friction *friction)
{
    dReal sum = 0.0;
    for_corners(system, friction, touch) sum +=
        fabs(max_real(touch->row.impulse, 0.0) - touch->load);
    return sum;
}

int hrp_friction_follows(const System *system, const Friction *friction, dReal allowed)
{
    if (hrp_friction_lag(system, friction) > allowed)
        return 0;
    for_corners(system, friction, touch) touch->load = max_real(touch->row.impulse, 0.0);
    return 1;
}

void hrp_friction_relax(System *system, Friction *friction)
{
    dReal change = -friction->load;
    for_corners(system, friction, touch) change += max_real(touch->row.impulse, 0.0);
    const dReal last = friction->load_change, ratio = last != 0.0 ? change / last : 0.0;
    const dReal part = ratio < 0.0 ? max_real(1.0 / (1.0 - ratio), LEAST_PART) : 1.0;
    friction->load_change = change;
    for_corners(system, friction, touch) touch->load +=
        part * (max_real(touch->row.impulse, 0.0) - touch->load);
    friction_load(system, friction);
}

static void slope_multiply(const dReal S[6], const dReal x[3], dReal out[3])
{
    out[0] = S[0] * x[0] + S[1] * x[1] + S[2] * x[2];
    out[1] = S[1] * x[0] + S[3] * x[1] + S[4] * x[2];
    out[2] = S[2] * x[0] + S[4] * x[1] + S[5] * x[2];
}

/* Compute the slip of a patch at some rates. Returns whether even its fastest point certainly
 * holds. */
static int slip_set(const Friction *friction, const dReal rate[3], dReal slip[3])
{
    for (int r = 0; r < 3; r++)
        slip[r] = friction->before[r] + rate[r];
    const dReal fastest = middle_speed(friction, slip) + friction->radius * fabs(slip[2]);
    return fastest * friction->stiffness <= friction->mu * friction->load;
}

/* Place the points of a patch as soon as they matter. */
static void points_need(System *system, Friction *friction)
{
    if (friction->points_end)
        return;
    hrp_patch_points_set(system, friction);
    bounds_set(system, friction);
}

/* How friction opposes slips of the given squares at four points: k times as large; and k / square
 * where they slip: by what k falls with the square. */
INLINE Quad points_oppose(const FrictionPoints *p, Quad square, Quad yields, Quad *falls)
{
    const Quad most = larger(square, yields);
    const Quad root = {sqrt(most[0]), sqrt(most[1]), sqrt(most[2]), sqrt(most[3])};
    const Quad inverse = 1.0 / root, k = p->bound * inverse;
    *falls = (Quad)((QuadMask)(k * inverse * inverse) & (square >= yields));
    return k;
}

/* Return the square of the slip at which points yield all they can. */
INLINE Quad yields_of(const Friction *friction)
{
    const dReal yield = max_real(friction->mu * friction->load / friction->stiffness, 1e-100);
    return yield * yield + (Quad){0.0};
}

/* The slip of four points, scaled by the shares of mu: along both tangents, and of the piece about
 * its middle. */
typedef struct {
    Quad a, b, c;
} PointSlip;

INLINE PointSlip points_slip(const Friction *friction, const FrictionPoints *p,
                             const dReal slip[3])
{
    return (PointSlip){.a = friction->along[0] * slip[0] - slip[2] * p->arm_a,
                       .b = friction->along[1] * slip[1] + slip[2] * p->arm_b,
                       .c = slip[2] * p->reach};
}

/* Return by how much a slip turns points about the middle of the patch. */
INLINE Quad points_turn(const FrictionPoints *p, const PointSlip *s)
{
    return p->arm_b * s->b - p->arm_a * s->a + p->reach * s->c;
}

/* Compute the impulse of a patch where points may slip. */
WIDE static void respond_slipping(const System *system, const Friction *friction,
                                  const dReal slip[3], Response *response)
{
    FrictionPoints *p = system->friction_points + friction->points;
    const FrictionPoints *end = system->friction_points + friction->points_end;
    const Quad yields = yields_of(friction);
    Quad along_a = {0.0}, along_b = {0.0}, turn = {0.0}, fastest = {0.0};
    for (; p < end; p++) {
        const PointSlip s = points_slip(friction, p, slip);
        const Quad square = s.a * s.a + s.b * s.b + s.c * s.c;
        p->stiffness = points_oppose(p, square, yields, &p->falls);
        fastest = larger(fastest, square);
        along_a += p->stiffness * s.a;
        along_b += p->stiffness * s.b;
        turn += p->stiffness * points_turn(p, &s);
    }
    response->impulse[0] = -friction->along[0] * sum_of(along_a);
    response->impulse[1] = -friction->along[1] * sum_of(along_b);
    response->impulse[2] = -sum_of(turn);
    response->has_slope = 0;
    response->sticks = max_real(max_real(fastest[0], fastest[1]),
                                max_real(fastest[2], fastest[3])) < yields[0];
}

/* Compute the slope of a patch whose impulse was computed. Each point has k (1 - n n^T), with
 * n = (a, b, c) / its length, where it slips; that of a secant is k. */
WIDE static void slope_slipping(const System *system, const Friction *friction,
                                Response *response)
{
    const FrictionPoints *p = system->friction_points + friction->points;
    const FrictionPoints *end = system->friction_points + friction->points_end;
    Quad stiffness = {0.0}, moments[3] = {{0.0}}, sums[6] = {{0.0}};
    dReal slip[3];
    for (int r = 0; r < 3; r++)
        slip[r] = friction->before[r] + response->rate[r];
    for (; p < end; p++) {
        const PointSlip s = points_slip(friction, p, slip);
        const Quad falls = (1.0 - response->secant) * p->falls, turn = points_turn(p, &s);
        const Quad a = falls * s.a, b = falls * s.b;
        stiffness += p->stiffness;
        moments_add(p, p->stiffness, moments);
        sums[0] += a * s.a;
        sums[1] += a * s.b;
        sums[2] += a * turn;
        sums[3] += b * s.b;
        sums[4] += b * turn;
        sums[5] += falls * turn * turn;
    }
    slope_set(friction, stiffness, moments, sums, response->slope);
    response->has_slope = 1;
}

/* Compute the response of a patch that holds everywhere. */
static void respond_sticking(const Friction *friction, const dReal slip[3], Response *response)
{
    response->sticks = response->has_slope = 1;
    memcpy(response->slope, friction->hold, sizeof friction->hold);
    slope_multiply(friction->hold, slip, response->impulse);
    for (int r = 0; r < 3; r++)
        response->impulse[r] = -response->impulse[r];
}

/* Compute the response of a patch at the current rates, but perhaps its slope, unless it is
 * known. */
static const Response *respond(System *system, Friction *friction)
{
    Response *response = &friction->response;
    if (friction->is_known &&
        memcmp(response->rate, friction->rate, sizeof response->rate) == 0)
        return response;
    dReal slip[3];
    friction->is_known = 1;
    memcpy(response->rate, friction->rate, sizeof response->rate);
    if (slip_set(friction, friction->rate, slip)) {
        respond_sticking(friction, slip, response);
        return response;
    }
    points_need(system, friction);
    respond_slipping(system, friction, slip, response);
    response->secant = friction->secant;
    return response;
}

/* Let the model have the impulse of a response at the current rates. */
static void model_shift(Friction *friction, const Response *response)
{
    dReal steep[3];
    slope_multiply(friction->slope, friction->rate, steep);
    for (int r = 0; r < 3; r++) {
        friction->impulse[r] = response->impulse[r];
        friction->base[r] = response->impulse[r] + steep[r];
    }
    friction->sticks = response->sticks;
    friction->secant = 0.0;
}

void hrp_friction_shift(System *system, Friction *friction)
{
    model_shift(friction, respond(system, friction));
}

static void model_set(Friction *friction, const Response *response)
{
    memcpy(friction->slope, response->slope, sizeof friction->slope);
    model_shift(friction, response);
}

void hrp_friction_linearize(System *system, Friction *friction)
{
    respond(system, friction);
    if (!friction->response.has_slope)
        slope_slipping(system, friction, &friction->response);
    model_set(friction, &friction->response);
}

void hrp_friction_hold(Friction *friction)
{
    Response response;
    dReal slip[3];
    slip_set(friction, friction->rate, slip);
    respond_sticking(friction, slip, &response);
    model_set(friction, &response);
}

void hrp_friction_update(Friction *friction)
{
    slope_multiply(friction->slope, friction->rate, friction->impulse);
    for (int r = 0; r < 3; r++)
        friction->impulse[r] = friction->base[r] - friction->impulse[r];
}

dReal hrp_friction_error(System *system, Friction *friction)
{
    const dReal *impulse = respond(system, friction)->impulse;
    const dReal x = impulse[0] - friction->impulse[0], y = impulse[1] - friction->impulse[1];
    const dReal turn = impulse[2] - friction->impulse[2], radius = friction->radius;
    return sqrt(x * x + y * y + (radius > 0.0 ? turn * turn / (radius * radius) : 0.0));
}

/* Set the square of the slip of points along a step. */
WIDE static void points_step(const System *system, const Friction *friction, const dReal slip[3],
                             const dReal change[3])
{
    FrictionPoints *p = system->friction_points + friction->points;
    const FrictionPoints *end = system->friction_points + friction->points_end;
    for (; p < end; p++) {
        const PointSlip s = points_slip(friction, p, slip), d = points_slip(friction, p, change);
        p->along_step[0] = s.a * s.a + s.b * s.b + s.c * s.c;
        p->along_step[1] = s.a * d.a + s.b * d.b + s.c * d.c;
        p->along_step[2] = d.a * d.a + d.b * d.b + d.c * d.c;
    }
}

void hrp_friction_search_begin(System *system, Friction *friction)
{
    dReal slip[3], change[3];
    friction->holds = slip_set(friction, friction->rate_before, slip);
    for (int r = 0; r < 3; r++)
        change[r] = friction->rate[r] - friction->rate_before[r];
    friction->along_step[0] = dot3(change, friction->impulse);
    if (friction->holds && slip_set(friction, friction->rate, slip)) {
        dReal steep[3];
        slope_multiply(friction->hold, change, steep);
        friction->along_step[1] = dot3(change, steep);
        friction->along_step[0] += dot3(slip, steep) - friction->along_step[1];
        return;
    }
    friction->holds = 0;
    const dReal least = hrp_friction_least_slip(friction);
    friction->secant = least > 0.0 && least < 1.0 ? SECANT : 0.0;
    slip_set(friction, friction->rate_before, slip);
    points_need(system, friction);
    points_step(system, friction, slip, change);
}

/* Add the part of points to the derivative, and to its own, at a fraction x of a step. */
WIDE static void points_search(const System *system, const Friction *friction, dReal x,
                               dReal *derivative, dReal *curvature)
{
    const FrictionPoints *p = system->friction_points + friction->points;
    const FrictionPoints *end = system->friction_points + friction->points_end;
    const Quad yields = yields_of(friction);
    Quad first = {0.0}, second = {0.0}, falls;
    for (; p < end; p++) {
        const Quad along = p->along_step[1] + x * p->along_step[2];
        const Quad square = p->along_step[0] + x * (p->along_step[1] + along);
        const Quad k = points_oppose(p, square, yields, &falls);
        first += k * along;
        second += k * p->along_step[2] - falls * along * along;
    }
    *derivative += sum_of(first);
    *curvature += sum_of(second);
}

void hrp_friction_search(const System *system, const Friction *friction, dReal x,
                         dReal *derivative, dReal *curvature)
{
    *derivative += friction->along_step[0];
    if (friction->holds) {
        *derivative += x * friction->along_step[1];
        *curvature += friction->along_step[1];
        return;
    }
    points_search(system, friction, x, derivative, curvature);
}

dReal hrp_friction_least_slip(const Friction *friction)
{
    const dReal *mean = friction->mean, *from = friction->rate_before;
    dReal slip[2], change[2], turn = friction->before[2] + from[2];
    for (int k = 0; k < 2; k++) {
        const dReal arm = k ? mean[0] : -mean[1], turned = friction->rate[2] - from[2];
        slip[k] = friction->along[k] * (friction->before[k] + from[k] + arm * turn);
        change[k] = friction->along[k] * (friction->rate[k] - from[k] + arm * turned);
    }
    return -(slip[0] * change[0] + slip[1] * change[1]) /
           (change[0] * change[0] + change[1] * change[1] + 1e-300);
}

void hrp_friction_part(const System *system, const Touch *touch, dReal impulse[3])
{
    const Friction *friction = &system->frictions[touch->friction];
    const dReal *f = friction->impulse;
    dReal load = 0.0;
    memset(impulse, 0, 3 * sizeof(dReal));
    if (!(friction->mu > 0.0))
        return;
    for_corners(system, friction, corner)
    {
        load += max_real(corner->row.impulse, 0.0);
    }
    dReal square = 0.0, turn = f[2];
    for_corners(system, friction, corner)
    {
        const dReal x = corner->at[0], y = corner->at[1];
        const dReal share =
            load > 0.0 ? max_real(corner->row.impulse, 0.0) / load : 1.0 / friction->corners;
        turn -= share * (x * f[1] - y * f[0]);
        square += x * x + y * y; /* their mean is the middle of the patch */
    }
    const dReal k = square > 0.0 ? turn / square : 0.0;
    const dReal share =
        load > 0.0 ? max_real(touch->row.impulse, 0.0) / load : 1.0 / friction->corners;
    const dReal x = share * f[0] - k * touch->at[1], y = share * f[1] + k * touch->at[0];
    for (int i = 0; i < 3; i++)
        impulse[i] = x * friction->J_first[i] + y * friction->J_first[6 + i];
}
