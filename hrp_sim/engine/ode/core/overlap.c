/* Contacts in directions in which nothing lets their groups move.
 *
 * A contact asks its groups to separate at up to max_correcting_velocity. If joints do not let
 * them, as with fingers that overlap across the axis along which they slide, only the softness of
 * the rows limits the force: a meganewton. The errors of these joints cause thousands of newtons
 * likewise. So pairs of groups that press harder than the weight of all are examined: the island is
 * solved again with less speed of separation. If the force changes as if only the rows yielded,
 * the groups do not separate, and the contact is soft. Else it was right, and is solved as before.
 * For some steps it stays soft, or is not examined again unless it presses much more.
 */
#include "overlap.h"
#include "rows.h"

#define MAX_PASSES 4
#define JAMMED_STEPS 20
#define RIGHT_STEPS 20
#define MAX_GROWTH 1.2        /* of the force of a contact that was right, in a step */
#define MIN_FORCE 100.0       /* [N] */
#define MAX_ACCELERATION 20.0 /* that the force may cause of a whole island, in [m/s^2] */
#define LEAST_PROBE 1e-3      /* change of the speed, in [m/s] */
#define JAMMED 0.05           /* stiffness of a pair, relative to that of a row by itself */
#define MAX_INERTIA 1e5       /* of a pair, relative to that of its groups by themselves */
#define MAX_SOFTNESS 1e-5     /* of that row: softer ones yield before the force is absurd */
#define SOFTNESS 1e-2         /* of a soft row, relative to the mobility of its groups */

/* Return the impulse up to which contacts are not examined. */
static dReal tolerated_impulse(const View *view)
{
    const System *system = view->system;
    dReal mass = 0.0;
    for (int at = view->island->first; at < view->island->end; at++)
        if (system->vertex_at[at] < system->node_count)
            mass += system->nodes[system->vertex_at[at]].mass;
    return (MIN_FORCE + MAX_ACCELERATION * mass) * view->world->step;
}

static dReal probe_of(const Touch *touch)
{
    return max_real(touch->correction, LEAST_PROBE);
}

/* Whether a probed pair is as stiff as if only rows yielded, or more inert than any drive. */
static int is_jammed(const View *view, int first, int end)
{
    const Touch *touch = touch_at(view, first);
    const dReal mobility = hrp_mobility_of(view->system, touch->first, touch->second, 0);
    const dReal softness =
        touch->yields ? touch->row.softness : min_real(touch->row.softness, MAX_SOFTNESS);
    dReal inertia = 0.0; /* change of the impulse per change of the speed */
    for (int i = first; i < end; i++)
        inertia += (touch_at(view, i)->pressed - touch_at(view, i)->row.impulse) /
                   probe_of(touch_at(view, i));
    return inertia * softness > JAMMED || inertia * mobility > MAX_INERTIA;
}

/* Let a contact yield, without separating its groups. */
static void soften(const System *system, Touch *touch)
{
    touch->row.target -= max_real(touch->correction, 0.0);
    touch->row.softness += SOFTNESS * hrp_mobility_of(system, touch->first, touch->second, 0);
}

/* Begin or end the examination of two groups. Returns whether that needs another solution. */
static int pair_examine(const View *view, int first, int end, dReal tolerated)
{
    dReal largest = 0.0, before = 0.0;
    int state = touch_at(view, first)->examined;
    for (int i = first; i < end; i++) {
        largest = max_real(largest, touch_at(view, i)->row.impulse);
        before = max_real(before, touch_at(view, i)->impulse_before);
    }
    if (touch_at(view, first)->right_left > 0)
        tolerated = max_real(tolerated, MAX_GROWTH * before);
    if (state == EXAMINED || (state == UNEXAMINED && largest <= tolerated))
        return 0;
    const int jammed = state == PROBED && is_jammed(view, first, end);
    for (int i = first; i < end; i++) {
        Touch *touch = touch_at(view, i);
        BoundedRow *row = &touch->row;
        if (state != PROBED) {
            touch->examined = PROBED;
            touch->pressed = row->impulse;
            row->target -= probe_of(touch);
            continue;
        }
        touch->examined = EXAMINED;
        touch->jammed_left = jammed ? JAMMED_STEPS : 0;
        touch->right_left = jammed ? 0 : RIGHT_STEPS;
        row->target += probe_of(touch);
        if (jammed)
            soften(view->system, touch);
    }
    return 1;
}

void hrp_overlap_recall(const System *system, Touch *touch, int left, int right_left)
{
    touch->right_left = right_left > 0 ? right_left - 1 : 0;
    touch->jammed_left = left > 0 ? left - 1 : 0;
    touch->examined = left > 1 ? EXAMINED : left == 1 ? SUSPECT : UNEXAMINED;
    if (left > 1)
        soften(system, touch);
}

int hrp_overlaps_soften(View *view)
{
    const int end = view->island->touches_end;
    const dReal least = MIN_FORCE * view->world->step;
    dReal largest = 0.0;
    int changed = 0, is_suspect = 0;
    for (int i = view->island->touches; i < end; i++) {
        largest = max_real(largest, touch_at(view, i)->row.impulse);
        is_suspect |= touch_at(view, i)->examined == SUSPECT;
    }
    if ((view->passes == 0 && largest <= least && !is_suspect) || view->passes++ >= MAX_PASSES)
        return 0;
    const dReal tolerated = tolerated_impulse(view);
    for (int first = view->island->touches, i = first; i < end; first = i) {
        const Touch *touch = touch_at(view, first);
        while (i < end && touch_at(view, i)->first == touch->first &&
               touch_at(view, i)->second == touch->second)
            i++;
        changed |= pair_examine(view, first, i, tolerated);
    }
    return changed;
}
