/* Friction of contact patches, for the exact solver.
 *
 * A patch is the contact points of two links that have one normal: the corners of a foot, both ends
 * of the line on which a wheel stands. Its load is spread over the patch with a pressure that varies
 * linearly, has the force and the moment of the normal impulses, and does not pull. At each of some
 * points, friction opposes the slip with mu times the point's share of the load, or holds it with
 * less (Coulomb). So a wheel pivots, and a disc or a box spins down, as with uniform pressure,
 * wherever the few contact points are.
 *
 * While a point holds, it yields: its slip at the bound is the same everywhere. The function that
 * the solver minimizes grows with the square of such a slip, and with the length of a longer one: it
 * is convex and smooth. Where mu differs along the two tangents, the slip is scaled by its share
 * along each, and the bound is an ellipse.
 */
#include "_core_solver.h"

#include <math.h>
#include <string.h>

#define MIN_WEAK 0.01     /* smaller shares of mu are softer than contacts */
#define YIELD 5e-5        /* along the normal, in [m/s] */
#define HOLD_YIELD 2e-4   /* across it */
#define KEPT 0.9995        /* of what is held, in a step: stress within a jam relaxes */
#define LEAST_PART 0.1    /* of a change of the load */
#define MAX_YIELDING 1e-3 /* relative to the mobility of the groups */
#define MAX_HOLD_YIELDING 0.02 /* likewise, along the patch */
#define MAX_EVENED 1e-5   /* differences of depth, in [m] */

/* Let the contact points of a patch share its load evenly.
 *
 * Which point of a patch carries how much may depend on errors of joints of a nanometre: a wheel on a
 * hinge stands on the whole line of contact, but contacts are so stiff that it would load one end
 * alone. So points yield to a load that exceeds that of the others: by YIELD under all of it, while
 * none of it makes the patch sink. Deeper points are raised and others lowered in turn, so that a
 * patch does not tilt for ever.
 */
static void load_share(const System *system, const Friction *friction, dReal rate)
{
    dReal impulse = 0.0, depth = 0.0, raised = 0.0;
    Touch *touch = first_corner(system, friction);
    for (int c = 0; c < friction->corners; c++, touch++) {
        touch = corner_from(system, friction, touch);
        impulse += touch->impulse_before / friction->corners;
        depth += touch->depth / friction->corners;
    }
    if (!(impulse > 0.0))
        return;
    touch = first_corner(system, friction);
    for (int c = 0; c < friction->corners; c++, touch++) {
        touch = corner_from(system, friction, touch);
        touch->raised = rate * clamp(touch->depth - depth, -MAX_EVENED, MAX_EVENED);
        raised += touch->raised / friction->corners;
    }
    touch = first_corner(system, friction);
    for (int c = 0; c < friction->corners; c++, touch++) {
        touch = corner_from(system, friction, touch);
        const dReal most = max_real(MAX_YIELDING * touch->mobility, touch->row.softness);
        touch->row.softness = clamp(YIELD / impulse, touch->row.softness, most);
        touch->yields = 1;
        touch->row.target += KEPT * min_real(touch->row.softness * impulse, YIELD) +
                             touch->raised - raised;
    }
}

/* Bound friction at each point by its share of the load. Where the pressure would pull it is none,
 * and more elsewhere. */
static void bounds_set(const System *system, Friction *friction)
{
    FrictionPoint *point = system->friction_points + friction->points;
    FrictionPoint *end = system->friction_points + friction->points_end;
    dReal all = 0.0;
    for (FrictionPoint *p = point; p < end; p++) {
        const dReal pressure = 1.0 + friction->pressure[0] * (p->x - friction->mean[0]) +
                               friction->pressure[1] * (p->y - friction->mean[1]);
        p->bound = p->share * max_real(pressure, 0.0);
        all += p->bound;
    }
    for (FrictionPoint *p = point; p < end && all > 0.0; p++)
        p->bound *= friction->mu * friction->load / all;
}

/* Bound the friction of a patch by the load of its contact points. */
void friction_load(const System *system, Friction *friction)
{
    const Touch *touch = first_corner(system, friction);
    const dReal *mean = friction->mean, *variance = friction->variance;
    dReal load = 0.0, moment[2] = {0.0, 0.0};
    for (int c = 0; c < friction->corners; c++, touch++) {
        touch = corner_from(system, friction, touch);
        load += touch->load;
        moment[0] += touch->load * touch->at[0];
        moment[1] += touch->load * touch->at[1];
    }
    friction->load = load;
    for (int k = 0; k < 2; k++) {
        friction->centre[k] = load > 0.0 ? moment[k] / load : mean[k];
        friction->pressure[k] = 0.0;
    }
    if (load > 0.0 && friction->corners > 1) {
        const dReal least = 1e-9 * (variance[0] + variance[2]); /* a line has none across */
        const dReal xx = variance[0] + least, xy = variance[1], yy = variance[2] + least;
        const dReal x = friction->centre[0] - mean[0], y = friction->centre[1] - mean[1];
        friction->pressure[0] = (yy * x - xy * y) / (xx * yy - xy * xy);
        friction->pressure[1] = (xx * y - xy * x) / (xx * yy - xy * xy);
    }
    const dReal *pressure = friction->pressure;
    const dReal steep = sqrt(pressure[0] * pressure[0] + pressure[1] * pressure[1]);
    const dReal reach = friction->radius + sqrt(mean[0] * mean[0] + mean[1] * mean[1]);
    friction->is_even = steep == 0.0 || (friction->is_symmetric && steep * reach < 1.0);
    friction->is_known = 0;
    if (friction->points_end)
        bounds_set(system, friction);
}

/* Set how the impulse of a patch that holds changes with its rates. Each point yields in proportion
 * to its pressure; that is linear, so the second moments of a symmetric area remain. */
static void hold_slope(const Friction *friction, dReal slope[6])
{
    const dReal k = friction->stiffness * friction->along[0] * friction->along[0];
    const dReal j = friction->stiffness * friction->along[1] * friction->along[1];
    const dReal *mean = friction->mean, *centre = friction->centre;
    const dReal xx = friction->variance[0] + mean[0] * (2.0 * centre[0] - mean[0]);
    const dReal yy = friction->variance[2] + mean[1] * (2.0 * centre[1] - mean[1]);
    slope[0] = k;
    slope[1] = 0.0;
    slope[2] = -k * centre[1];
    slope[3] = j;
    slope[4] = j * centre[0];
    slope[5] = k * yy + j * xx;
}

/* Set how much a patch yields while it holds: by HOLD_YIELD under the most that it may hold, and by
 * nothing under the friction of the last step, so that it does not creep. */
static void hold_set(const System *system, Friction *friction)
{
    const Touch *touch = first_corner(system, friction);
    const dReal weak = max_real(min_real(friction->along[0], friction->along[1]), MIN_WEAK);
    const dReal most = friction->corners / (touch->rigid * weak * weak);
    const dReal least = min_real(1.0 / (MAX_HOLD_YIELDING * touch->mobility), most);
    dReal load = 0.0, held[3] = {0.0}, *before = friction->before;
    for (int c = 0; c < friction->corners; c++, touch++) {
        touch = corner_from(system, friction, touch);
        const dReal x = dot3(touch->friction_before, friction->J_first);
        const dReal y = dot3(touch->friction_before, friction->J_first + 6);
        load += touch->impulse_before;
        held[0] += KEPT * x;
        held[1] += KEPT * y;
        held[2] += KEPT * (touch->at[0] * y - touch->at[1] * x);
    }
    friction->stiffness = load > 0.0 ? clamp(friction->mu * load / HOLD_YIELD, least, most) : most;
    dReal slope[6];
    hold_slope(friction, slope);
    const dReal *centre = friction->centre, k = slope[0], j = slope[3];
    /* About the centre of the load, forces do not turn the patch. */
    const dReal stiff = slope[5] - k * centre[1] * centre[1] - j * centre[0] * centre[0];
    const dReal turn = held[2] - centre[0] * held[1] + centre[1] * held[0];
    const dReal turns = stiff > 1e-9 * slope[5] ? turn / stiff : 0.0;
    before[0] -= (k > 0.0 ? held[0] / k : 0.0) + turns * centre[1];
    before[1] -= (j > 0.0 ? held[1] / j : 0.0) - turns * centre[0];
    before[2] -= turns;
}

/* Set the rows and the areas of all patches, after all contacts were created. Returns 0 when memory
 * is short. */
int frictions_fill(const World *world, System *system)
{
    system->friction_point_count = 0;
    for (int f = 0; f < system->friction_count; f++) {
        Friction *friction = &system->frictions[f];
        const Touch *touch = first_corner(system, friction);
        if (friction->corners > 1 && touch->row.softness == touch->rigid)
            load_share(system, friction, system->erp / world->step);
        if (!(friction->mu > 0.0))
            continue;
        patch_plane_set(system, friction);
        patch_area_set(system, friction);
        friction_load(system, friction);
        hold_set(system, friction);
    }
    return array_reserve(&system->friction_points, &system->friction_point_capacity,
                         system->friction_count * MAX_PATCH_POINTS, sizeof(FrictionPoint));
}

/* Follow the normal impulses of a patch with its load. Where friction changes them so much that they
 * would alternate, as in a wedge, follow by the part that the last change suggests (Aitken). */
void friction_relax(const System *system, Friction *friction)
{
    Touch *touch = first_corner(system, friction);
    dReal change = -friction->load;
    for (int c = 0; c < friction->corners; c++, touch++) {
        touch = corner_from(system, friction, touch);
        change += max_real(touch->row.impulse, 0.0);
    }
    const dReal last = friction->load_change, ratio = last != 0.0 ? change / last : 0.0;
    const dReal part = ratio < 0.0 ? max_real(1.0 / (1.0 - ratio), LEAST_PART) : 1.0;
    friction->load_change = change;
    touch = first_corner(system, friction);
    for (int c = 0; c < friction->corners; c++, touch++) {
        touch = corner_from(system, friction, touch);
        touch->load += part * (max_real(touch->row.impulse, 0.0) - touch->load);
    }
    friction_load(system, friction);
}

static void slope_multiply(const dReal S[6], const dReal x[3], dReal out[3])
{
    out[0] = S[0] * x[0] + S[1] * x[1] + S[2] * x[2];
    out[1] = S[1] * x[0] + S[3] * x[1] + S[4] * x[2];
    out[2] = S[2] * x[0] + S[4] * x[1] + S[5] * x[2];
}

/* Compute the response of a patch that holds everywhere. */
static void respond_sticking(const Friction *friction, const dReal rate[3], Response *response)
{
    const dReal slip[3] = {friction->before[0] + rate[0], friction->before[1] + rate[1],
                           friction->before[2] + rate[2]};
    response->sticks = 1;
    hold_slope(friction, response->slope);
    slope_multiply(response->slope, slip, response->impulse);
    for (int r = 0; r < 3; r++)
        response->impulse[r] = -response->impulse[r];
}

/* Whether a patch certainly holds everywhere at some rates: even its fastest point. */
static int certainly_sticks(const Friction *friction, const dReal rate[3])
{
    const dReal vx = friction->along[0] * (friction->before[0] + rate[0]);
    const dReal vy = friction->along[1] * (friction->before[1] + rate[1]);
    const dReal slip = sqrt(vx * vx + vy * vy) +
                       friction->radius * fabs(friction->before[2] + rate[2]);
    return friction->is_even && slip * friction->stiffness <= friction->mu * friction->load;
}

/* Compute the response of a patch, unless it is known. */
static const Response *respond(System *system, Friction *friction, const dReal rate[3])
{
    Response *response = &friction->response;
    if (friction->is_known && response->rate[0] == rate[0] && response->rate[1] == rate[1] &&
        response->rate[2] == rate[2])
        return response;
    friction->is_known = 1;
    if (certainly_sticks(friction, rate)) {
        respond_sticking(friction, rate, response);
        memcpy(response->rate, rate, sizeof response->rate);
        return response;
    }
    if (!friction->points_end) {
        patch_points_set(system, friction);
        bounds_set(system, friction);
    }
    const FrictionPoint *p = system->friction_points + friction->points;
    const FrictionPoint *end = system->friction_points + friction->points_end;
    const dReal vx = friction->before[0] + rate[0], vy = friction->before[1] + rate[1];
    const dReal w = friction->before[2] + rate[2];
    const dReal strong = friction->along[0], weak = friction->along[1];
    const dReal bounds = friction->mu * friction->load;
    const dReal stiffness = bounds > 0.0 ? friction->stiffness / bounds : 0.0;
    dReal *sum = response->impulse, *S = response->slope;
    *response = (Response){.rate = {rate[0], rate[1], rate[2]}, .sticks = 1};
    for (; p < end; p++) {
        const dReal a = strong * (vx - w * p->y), b = weak * (vy + w * p->x), c = p->reach * w;
        const dReal square = a * a + b * b + c * c;
        dReal k = stiffness * p->bound, back = 0.0;
        if (square * k * k > p->bound * p->bound) {
            k = p->bound / sqrt(square);
            back = k / square;
            response->sticks = 0;
        }
        /* k (1 - n n^T) with n = (a, b, c) / its length, for rows that turn by -y, x and reach. */
        const dReal turn_a = -strong * p->y, turn_b = weak * p->x;
        const dReal n[3] = {strong * a, weak * b, turn_a * a + turn_b * b + p->reach * c};
        sum[0] -= k * n[0];
        sum[1] -= k * n[1];
        sum[2] -= k * n[2];
        S[0] += k * strong * strong - back * n[0] * n[0];
        S[1] -= back * n[0] * n[1];
        S[2] += k * strong * turn_a - back * n[0] * n[2];
        S[3] += k * weak * weak - back * n[1] * n[1];
        S[4] += k * weak * turn_b - back * n[1] * n[2];
        S[5] += k * (turn_a * turn_a + turn_b * turn_b + p->reach * p->reach) -
                back * n[2] * n[2];
    }
    return response;
}

static void model_set(Friction *friction, const Response *response)
{
    dReal steep[3];
    slope_multiply(response->slope, friction->rate, steep);
    memcpy(friction->slope, response->slope, sizeof friction->slope);
    for (int r = 0; r < 3; r++) {
        friction->impulse[r] = response->impulse[r];
        friction->base[r] = response->impulse[r] + steep[r];
    }
    friction->sticks = response->sticks;
}

/* Set Newton's model at the current rates, for the current bounds. */
void friction_linearize(System *system, Friction *friction)
{
    model_set(friction, respond(system, friction, friction->rate));
}

/* Set a model in which all points hold, whatever their bounds are. */
void friction_hold(Friction *friction)
{
    Response response;
    respond_sticking(friction, friction->rate, &response);
    model_set(friction, &response);
}

/* Set the impulse of the model at the current rates. */
void friction_update(Friction *friction)
{
    slope_multiply(friction->slope, friction->rate, friction->impulse);
    for (int r = 0; r < 3; r++)
        friction->impulse[r] = friction->base[r] - friction->impulse[r];
}

/* Return by how much the impulse of the model differs from that of the bounds, at most. */
dReal friction_error(System *system, Friction *friction)
{
    const dReal *impulse = respond(system, friction, friction->rate)->impulse;
    const dReal x = impulse[0] - friction->impulse[0], y = impulse[1] - friction->impulse[1];
    const dReal turn = impulse[2] - friction->impulse[2], radius = friction->radius;
    return sqrt(x * x + y * y + (radius > 0.0 ? turn * turn / (radius * radius) : 0.0));
}

/* Add to the derivative, and to its own, of the minimized function at a fraction x of a step. */
void friction_search(System *system, Friction *friction, dReal x, dReal *derivative,
                     dReal *curvature)
{
    dReal change[3], rate[3], steep[3];
    for (int r = 0; r < 3; r++) {
        change[r] = friction->rate[r] - friction->rate_before[r];
        rate[r] = x == 1.0 ? friction->rate[r] : friction->rate_before[r] + x * change[r];
    }
    const Response *response = respond(system, friction, rate);
    slope_multiply(response->slope, change, steep);
    for (int r = 0; r < 3; r++)
        *derivative += change[r] * (friction->impulse[r] - response->impulse[r]);
    *curvature += dot3(change, steep);
}

/* Return at which fraction of a step the middle of a patch slips least. */
dReal friction_least_slip(const Friction *friction)
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

/* Return the part of a contact point in the friction of its patch, in W: with those of the others,
 * it has the force and the moment of the points'. */
void friction_part(const System *system, const Touch *touch, dReal impulse[3])
{
    const Friction *friction = &system->frictions[touch->friction];
    const dReal *f = friction->impulse;
    dReal load = 0.0;
    memset(impulse, 0, 3 * sizeof(dReal));
    if (!(friction->mu > 0.0))
        return;
    const Touch *corner = first_corner(system, friction);
    for (int c = 0; c < friction->corners; c++, corner++) {
        corner = corner_from(system, friction, corner);
        load += max_real(corner->row.impulse, 0.0);
    }
    dReal square = 0.0, turn = f[2];
    corner = first_corner(system, friction);
    for (int c = 0; c < friction->corners; c++, corner++) {
        corner = corner_from(system, friction, corner);
        const dReal x = corner->at[0], y = corner->at[1];
        const dReal share = load > 0.0 ? max_real(corner->row.impulse, 0.0) / load
                                       : 1.0 / friction->corners;
        turn -= share * (x * f[1] - y * f[0]);
        square += x * x + y * y; /* their mean is the middle of the patch */
    }
    const dReal k = square > 0.0 ? turn / square : 0.0;
    const dReal share = load > 0.0 ? max_real(touch->row.impulse, 0.0) / load
                                   : 1.0 / friction->corners;
    const dReal x = share * f[0] - k * touch->at[1], y = share * f[1] + k * touch->at[0];
    for (int i = 0; i < 3; i++)
        impulse[i] = x * friction->J_first[i] + y * friction->J_first[6 + i];
}
