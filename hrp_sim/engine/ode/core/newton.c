/* Solves the rows of an island with their bounds.
 *
 * Without the equations of couplings, which hold at any time, the changes of velocity minimize
 *
 *     1/2 (dv - M^-1 f)^T M (dv - M^-1 f) + sum over rows of phi(J dv):
 *
 * phi grows with the square of (target - J dv) while the impulse is within its bounds, and linearly
 * beyond. This function is strictly convex and piecewise quadratic, so Newton's method with a line
 * search ends at the one solution: first the rows that
 * are free, and those at their bounds, are found, then one linear system gives the solution to
 * rounding. It needs the factor of the matrix in each iteration, of which only the columns between
 * the changed rows and the root change; but no row is an unknown.
 *
 * Friction, which opposes a slip, adds functions of its own (friction.c). Its bounds
 * follow from the normal impulses: those of the last step at first, then those of the solution,
 * until the friction does not change any more. So a step with the bounds and the slip of the last
 * one needs a single linear system. No solution is more exact than its bounds are worth, and where
 * friction changes little the next system keeps its slopes, and so its factor.
 */
#include "newton.h"
#include "factor.h"
#include "friction.h"
#include "gears.h"
#include "overlap.h"
#include "search.h"

#include <math.h>
#include <string.h>

#define MAX_ITERATIONS 60 /* fewer of islands with large matrices, see Island.excess */
#define MAX_LOADS 3      /* solutions with other bounds of friction */
#define TOLERANCE 1e-9    /* of impulses, relative to the largest of the island */
#define ROUNDING 1e-13    /* likewise, relative to the sum of those on its groups */
#define FRICTION_TOLERANCE 1e-6 /* of friction, relative to the largest impulse of the island */
#define LOAD_TOLERANCE 1e-5 /* likewise, when its bounds change */
#define LOAD_SHARE 1e-3     /* or relative to its own bound; the next step continues */
#define ROUGH 0.3           /* errors of a solution, relative to those of the bounds of friction */
#define EXACT 0.1           /* those of friction, likewise, which end a step */
#define PROGRESS 0.7        /* of the bounds, without which there is no other solution */
#define NEAR_SHARE 0.05     /* error of a model of friction that stays, relative to its bound */
#define NEAR_TOLERANCE 1e-3 /* or to the largest impulse of the island */
#define STALLED 0.2         /* error left by a solution, beyond which no model stays */
#define MOST_CHANGE 2.0     /* of friction, relative to mu and the changes of impulses */
#define STICKS_BIT 2

/* List the rows with bounds, and the friction of patches. */
static void rows_list(View *view)
{
    view->rows = view->system->bounded;
    view->frictions = view->system->gripping;
    view->row_count = view->friction_count = 0;
    for (int i = view->island->couplings; i < view->island->couplings_end; i++) {
        Coupling *coupling = coupling_at(view, i);
        for (int k = 0; k < coupling->axis_rows; k++)
            view->rows[view->row_count++] = &coupling->axis[k];
    }
    for (int i = view->island->touches; i < view->island->touches_end; i++) {
        Touch *touch = touch_at(view, i);
        view->rows[view->row_count++] = &touch->row;
        Friction *friction = &view->system->frictions[touch->friction];
        if (friction->touch == view->system->touch_order[i] && friction->mu > 0.0)
            view->frictions[view->friction_count++] = friction;
    }
}

static dReal wanted_impulse(const BoundedRow *row)
{
    return (row->target - row->rate) / row->softness;
}

/* Let a row be free, or fix it at the bound that the impulse would leave. */
static void row_classify(BoundedRow *row)
{
    row->is_free = row->wanted > row->lower && row->wanted < row->upper;
    row->at_upper = row->wanted >= row->upper;
    row->impulse = clamp(row->wanted, row->lower, row->upper);
}

/* Set bounds, and guess whether the row is at one of them; active: two bits, see hrp_row_bits. */
static void row_begin(BoundedRow *row, dReal lower, dReal upper, int active)
{
    row->lower = lower;
    row->upper = upper;
    row->at_upper = active >> 1;
    row->impulse = row->at_upper ? upper : lower;
    row->is_free = lower < upper && (!(active & 1) || !isfinite(row->impulse));
}

int hrp_row_bits(const BoundedRow *row)
{
    return row->is_free ? 0 : 1 + 2 * row->at_upper;
}

/* Return what is remembered of a contact, see rows_remember. */
static ContactMemory memory_of(const View *view, int number)
{
    const World *world = view->world;
    return number < world->memory_limit ? world->memory[number] : (ContactMemory){0};
}

/* Set all bounds, guessing that they hold and that friction has them as in the last step. */
static void rows_begin(const View *view)
{
    for (int i = view->island->couplings; i < view->island->couplings_end; i++) {
        Coupling *coupling = coupling_at(view, i);
        for (int k = 0; k < coupling->axis_rows; k++) {
            BoundedRow *row = &coupling->axis[k];
            row_begin(row, row->lower, row->upper, hrp_row_bits(row));
        }
    }
    for (int i = 0; i < view->friction_count; i++) {
        Friction *friction = view->frictions[i];
        if (memory_of(view, friction->touch).active >> STICKS_BIT & 1)
            hrp_friction_hold(friction);
        else
            hrp_friction_linearize(view->system, friction);
    }
    for (int i = view->island->touches; i < view->island->touches_end; i++)
        row_begin(&touch_at(view, i)->row, 0.0, dInfinity,
                  memory_of(view, view->system->touch_order[i]).active & 1);
}

/* Add an impulse along a row to the right-hand side of its nodes. */
static void impulse_add(const System *system, dReal impulse, int first, int second,
                        const dReal *J_first, const dReal *J_second)
{
    if (impulse == 0.0)
        return;
    dReal *x = system->x + 6 * (size_t)system->position_of[first];
    for (int k = 0; k < 6; k++)
        x[k] += impulse * J_first[k];
    if (second == WORLD_NODE)
        return;
    x = system->x + 6 * (size_t)system->position_of[second];
    for (int k = 0; k < 6; k++)
        x[k] += impulse * J_second[k];
}

/* Set what acts along the axis of a joint: of free rows what their targets ask for, of others the
 * impulses at their bounds. */
static void axis_impulses_set(const System *system, Coupling *coupling)
{
    coupling->pull = 0.0;
    for (int k = 0; k < coupling->axis_rows; k++) {
        const BoundedRow *row = &coupling->axis[k];
        if (row->is_free)
            coupling->pull += row->target / row->softness;
        else
            impulse_add(system, row->impulse, coupling->first, coupling->second,
                        coupling->axis_first, coupling->axis_second);
    }
}

/* Add an impulse along the rows of a patch. */
static void friction_impulse_add(const System *system, const Friction *friction,
                                 const dReal impulse[3])
{
    for (int r = 0; r < 3; r++)
        impulse_add(system, impulse[r], friction->first, friction->second,
                    friction->J_first + 6 * r, friction->J_second + 6 * r);
}

/* Set the right-hand side of an island's system. */
static void rhs_set(const View *view)
{
    const System *system = view->system;
    for (int at = view->island->first; at < view->island->end; at++) {
        int vertex = system->vertex_at[at];
        dReal *x = system->x + 6 * (size_t)at;
        if (vertex < system->node_count)
            memcpy(x, system->nodes[vertex].impulse, 6 * sizeof(dReal));
        else
            memcpy(x, system->couplings[vertex - system->node_count].target, 6 * sizeof(dReal));
    }
    for (int i = view->island->couplings; i < view->island->couplings_end; i++)
        axis_impulses_set(system, coupling_at(view, i));
    for (int i = view->island->touches; i < view->island->touches_end; i++) {
        const Touch *touch = touch_at(view, i);
        const BoundedRow *row = &touch->row;
        impulse_add(system, row->is_free ? row->target / row->softness : row->impulse, touch->first,
                    touch->second, touch->J_first, touch->J_second);
    }
    for (int i = 0; i < view->friction_count; i++)
        friction_impulse_add(system, view->frictions[i], view->frictions[i]->base);
}

static dReal rate_along(const System *system, int first, int second, const dReal *J_first,
                        const dReal *J_second)
{
    dReal rate = dot6(J_first, dv_of(system, first));
    return second == WORLD_NODE ? rate : rate + dot6(J_second, dv_of(system, second));
}

/* Divide the impulse of the axis among its free rows. The stiffest takes what the others leave: the
 * difference of its target and rate would be mostly rounding. */
static void axis_divide(Coupling *coupling)
{
    BoundedRow *stiffest = NULL;
    dReal left = coupling->axis_impulse;
    for (int k = 0; k < coupling->axis_rows; k++) {
        BoundedRow *row = &coupling->axis[k];
        row->wanted = wanted_impulse(row);
        if (!row->is_free)
            continue;
        if (!stiffest || row->softness < stiffest->softness)
            stiffest = row;
        row->impulse = row->wanted;
        left -= row->impulse;
    }
    if (stiffest)
        stiffest->wanted = stiffest->impulse += left;
}

/* Compute the rates of all rows with bounds, and the impulses of those that are free; and both of
 * the friction of patches. */
static void rates_update(const View *view)
{
    const System *system = view->system;
    for (int i = view->island->couplings; i < view->island->couplings_end; i++) {
        Coupling *coupling = coupling_at(view, i);
        if (!coupling->axis_rows)
            continue;
        for (int k = 0; k < coupling->axis_rows; k++)
            coupling->axis[k].rate = coupling->axis_rate;
        axis_divide(coupling);
    }
    for (int i = view->island->touches; i < view->island->touches_end; i++) {
        Touch *touch = touch_at(view, i);
        BoundedRow *row = &touch->row;
        row->rate =
            rate_along(system, touch->first, touch->second, touch->J_first, touch->J_second);
        row->wanted = wanted_impulse(row);
        if (row->is_free)
            row->impulse = row->wanted;
    }
    for (int i = 0; i < view->friction_count; i++) {
        Friction *friction = view->frictions[i];
        for (int r = 0; r < 3; r++)
            friction->rate[r] = rate_along(system, friction->first, friction->second,
                                           friction->J_first + 6 * r, friction->J_second + 6 * r);
        hrp_friction_update(friction);
    }
}

/* Solve with the free rows as they are; is_first: for the first time in a step. Returns 0 if a
 * number is not finite. */
static int solve_free(const View *view, int is_first)
{
    System *system = view->system;
    hrp_matrix_assemble(system, view->island, is_first);
    if (!hrp_matrix_factor(view->world, view->island))
        return 0;
    rhs_set(view);
    hrp_matrix_solve(system, view->island, system->x);
    for (int at = view->island->first; at < view->island->end; at++) {
        const int vertex = system->vertex_at[at];
        const dReal *x = system->x + 6 * (size_t)at;
        if (vertex < system->node_count)
            memcpy(dv_of(system, vertex), x, 6 * sizeof(dReal));
        else
            for (int r = 0; r < 6; r++)
                system->couplings[vertex - system->node_count].impulse[r] = -x[r];
    }
    for (int i = view->island->couplings; i < view->island->couplings_end; i++) {
        Coupling *coupling = coupling_at(view, i);
        coupling->axis_rate = coupling->solved_rate;
        coupling->axis_impulse = coupling->solved_impulse;
    }
    rates_update(view);
    return 1;
}

/* Subtract M dv from the right-hand side of a node. */
static void momentum_subtract(const System *system, int n)
{
    const Node *node = &system->nodes[n];
    const dReal *dv = dv_of(system, n);
    dReal *x = system->x + 6 * (size_t)system->position_of[n], turned[3];
    rotate3(turned, node->I_W, dv + 3);
    for (int i = 0; i < 3; i++) {
        x[i] -= node->mass * dv[i];
        x[3 + i] -= turned[i];
    }
}

/* Improve the solution by that for its residuals. The impulses of trees' joints are none of them:
 * they hold whatever is left. */
static void refine(const View *view)
{
    System *system = view->system;
    for (int at = view->island->first; at < view->island->end; at++) {
        int vertex = system->vertex_at[at];
        if (vertex < system->node_count) {
            memcpy(system->x + 6 * (size_t)at, system->nodes[vertex].impulse, 6 * sizeof(dReal));
            momentum_subtract(system, vertex);
        }
    }
    for (int i = view->island->couplings; i < view->island->couplings_end; i++) {
        Coupling *coupling = coupling_at(view, i);
        coupling->pull = 0.0;
        for (int k = 0; k < coupling->axis_rows; k++) {
            const BoundedRow *row = &coupling->axis[k];
            coupling->pull += row->is_free ? wanted_impulse(row) - row->impulse : 0.0;
            impulse_add(system, row->impulse, coupling->first, coupling->second,
                        coupling->axis_first, coupling->axis_second);
        }
        if (coupling->is_tree)
            continue;
        const int vertex = system->node_count + (int)(coupling - system->couplings);
        dReal *x = system->x + 6 * (size_t)system->position_of[vertex];
        memset(x, 0, 6 * sizeof(dReal));
        for (int r = 0; r < coupling->rows; r++) {
            const dReal *J_first = coupling->J_first + 6 * r;
            const dReal *J_second = coupling->J_second + 6 * r;
            x[r] = coupling->target[r] - coupling->softness[r] * coupling->impulse[r] -
                   rate_along(system, coupling->first, coupling->second, J_first, J_second);
            impulse_add(system, coupling->impulse[r], coupling->first, coupling->second, J_first,
                        J_second);
        }
        if (coupling->gear) {
            x[0] -= hrp_gear_rate(system, coupling);
            hrp_gear_impulse_add(system, coupling);
        }
    }
    for (int i = view->island->touches; i < view->island->touches_end; i++) {
        const Touch *touch = touch_at(view, i);
        impulse_add(system, touch->row.impulse, touch->first, touch->second, touch->J_first,
                    touch->J_second);
    }
    for (int i = 0; i < view->friction_count; i++)
        friction_impulse_add(system, view->frictions[i], view->frictions[i]->impulse);
    hrp_matrix_solve(system, view->island, system->x);
    for (int at = view->island->first; at < view->island->end; at++) {
        const int vertex = system->vertex_at[at];
        const dReal *x = system->x + 6 * (size_t)at;
        for (int k = 0; k < 6; k++)
            if (vertex < system->node_count)
                dv_of(system, vertex)[k] += x[k];
            else
                system->couplings[vertex - system->node_count].impulse[k] -= x[k];
    }
    for (int i = view->island->couplings; i < view->island->couplings_end; i++) {
        Coupling *coupling = coupling_at(view, i);
        coupling->axis_rate += coupling->solved_rate;
        coupling->axis_impulse += coupling->solved_impulse;
    }
    rates_update(view);
}

/* What a pass over all rows with bounds computes. */
typedef struct {
    dReal largest;   /* impulse */
    dReal violation; /* largest difference from a feasible impulse */
    dReal friction;  /* likewise, of friction */
} Check;

static void row_check(const BoundedRow *row, Check *check)
{
    dReal feasible = clamp(row->wanted, row->lower, row->upper);
    check->largest = max_real(check->largest, fabs(row->impulse));
    check->violation = max_real(check->violation, fabs(feasible - row->impulse));
}

/* Compare the impulses of an island's rows with bounds and of its friction with what bounds
 * allow. */
static Check solution_check(const View *view)
{
    Check check = {.largest = 0.0};
    for (int i = 0; i < view->row_count; i++)
        row_check(view->rows[i], &check);
    for (int i = 0; i < view->friction_count; i++) {
        const dReal *impulse = view->frictions[i]->impulse;
        check.largest =
            max_real(check.largest, sqrt(impulse[0] * impulse[0] + impulse[1] * impulse[1]));
        check.friction =
            max_real(check.friction, hrp_friction_error(view->system, view->frictions[i]));
    }
    return check;
}

/* Whether all free rows are within their bounds, the others belong there, and friction is as its
 * bounds allow, or almost, if these are wrong by more (lag). Where nothing but rounding acts on
 * rows, as in a balanced arm at rest, the impulses on groups tell how large that is. */
static int is_solved(const View *view, const Check *check, dReal lag)
{
    if (check->friction > max_real(FRICTION_TOLERANCE * check->largest, EXACT * lag))
        return 0;
    if (check->violation <= TOLERANCE * check->largest)
        return 1;
    dReal acts = 0.0;
    for (int at = view->island->first; at < view->island->end; at++) {
        const int vertex = view->system->vertex_at[at];
        for (int r = 0; r < 6 && vertex < view->system->node_count; r++)
            acts += fabs(view->system->nodes[vertex].impulse[r]);
    }
    return check->violation <= ROUNDING * acts;
}

/* Remember the solution before a Newton step. */
static void solution_keep(const View *view)
{
    System *system = view->system;
    for (int at = view->island->first; at < view->island->end; at++) {
        const size_t vertex = (size_t)system->vertex_at[at];
        if ((int)vertex < system->node_count)
            memcpy(system->dv_before + 6 * vertex, system->dv + 6 * vertex, 6 * sizeof(dReal));
    }
    for (int i = view->island->couplings; i < view->island->couplings_end; i++) {
        Coupling *coupling = coupling_at(view, i);
        if (!coupling->is_tree)
            memcpy(coupling->impulse_before, coupling->impulse, sizeof coupling->impulse);
    }
    for (int i = 0; i < view->row_count; i++) {
        BoundedRow *row = view->rows[i];
        row->rate_before = row->rate;
        row->wanted_before = row->wanted;
    }
    for (int i = 0; i < view->friction_count; i++)
        memcpy(view->frictions[i]->rate_before, view->frictions[i]->rate, 3 * sizeof(dReal));
}

/* Go back to a fraction x of Newton's step. */
static void step_shorten(const View *view, dReal x)
{
    System *system = view->system;
    for (int at = view->island->first; at < view->island->end; at++) {
        const int vertex = system->vertex_at[at];
        if (vertex >= system->node_count)
            continue;
        dReal *dv = dv_of(system, vertex), *before = system->dv_before + 6 * (size_t)vertex;
        for (int k = 0; k < 6; k++)
            dv[k] = before[k] + x * (dv[k] - before[k]);
    }
    for (int i = view->island->couplings; i < view->island->couplings_end; i++) {
        Coupling *coupling = coupling_at(view, i);
        for (int r = 0; r < 6 && !coupling->is_tree; r++)
            coupling->impulse[r] = coupling->impulse_before[r] +
                                   x * (coupling->impulse[r] - coupling->impulse_before[r]);
    }
    for (int i = 0; i < view->row_count; i++) {
        BoundedRow *row = view->rows[i];
        row->rate = row->rate_before + x * (row->rate - row->rate_before);
        row->wanted = row->wanted_before + x * (row->wanted - row->wanted_before);
    }
    for (int i = 0; i < view->friction_count; i++) {
        dReal *rate = view->frictions[i]->rate, *before = view->frictions[i]->rate_before;
        for (int r = 0; r < 3; r++)
            rate[r] = before[r] + x * (rate[r] - before[r]);
        hrp_friction_update(view->frictions[i]);
    }
}

/* Whether the friction of a patch is nearly that of its model, so that its slope may stay. */
static int is_near(const View *view, Friction *friction, dReal largest)
{
    return hrp_friction_error(view->system, friction) <=
           NEAR_SHARE * friction->mu * friction->load + NEAR_TOLERANCE * largest;
}

/* Begin the next step of Newton's method where the last one led; largest: impulse of the island.
 * Slopes of friction that is near its model stay, if they may: columns of the factor that no other
 * row changes stay, too. */
static void rows_linearize(const View *view, int may_stay, dReal largest)
{
    for (int i = 0; i < view->row_count; i++)
        row_classify(view->rows[i]);
    for (int i = 0; i < view->friction_count; i++)
        if (may_stay && is_near(view, view->frictions[i], largest))
            hrp_friction_shift(view->system, view->frictions[i]);
        else
            hrp_friction_linearize(view->system, view->frictions[i]);
}

/* Return the largest error of friction's bounds, beside those that follow from normal impulses. */
static dReal loads_lag(const View *view)
{
    dReal most = 0.0;
    for (int i = 0; i < view->friction_count; i++) {
        const Friction *friction = view->frictions[i];
        most = max_real(most, friction->mu * hrp_friction_lag(view->system, friction));
    }
    return most;
}

/* Find the free rows and the friction, from a guess on, for the current bounds of friction. A rough
 * solution is enough if these are wrong by more, but by less than most_lag. One that is not reached
 * within the permitted iterations is the best found. Returns 0 if a number is not finite. */
static int minimize(const View *view, int *iteration, dReal most_lag)
{
    const int most = MAX_ITERATIONS / view->island->excess;
    dReal before = dInfinity; /* error of friction */
    while (*iteration < most) {
        const int is_first = ++*iteration == 1; /* the guess is no solution to go back to */
        if (!is_first)
            solution_keep(view);
        if (!solve_free(view, is_first))
            return 0;
        const Check check = solution_check(view);
        const dReal lag = loads_lag(view);
        if (is_solved(view, &check, lag))
            return 1;
        if (lag < most_lag && max_real(check.violation, check.friction) < ROUGH * lag)
            return 1;
        dReal x = is_first ? 1.0 : hrp_line_search(view);
        if (x < 1.0)
            step_shorten(view, x);
        rows_linearize(view, check.friction < STALLED * before, check.largest);
        before = check.friction;
    }
    return 1;
}

/* Bound friction by the current normal impulses; largest: impulse of the island. Returns whether
 * that changes friction. */
static int loads_update(const View *view, dReal largest)
{
    int changes = 0;
    for (int i = 0; i < view->friction_count; i++) {
        Friction *friction = view->frictions[i];
        const dReal own = LOAD_SHARE * friction->mu * friction->load;
        const dReal allowed = max_real(LOAD_TOLERANCE * largest, own);
        if (hrp_friction_follows(view->system, friction, allowed / (MOST_CHANGE * friction->mu)))
            continue;
        hrp_friction_relax(view->system, friction);
        changes |= hrp_friction_error(view->system, friction) > allowed;
    }
    return changes;
}

/* Whether an island has contacts that are very stiff compared with their groups' inertia. */
static int is_stiff(const View *view)
{
    for (int i = view->island->touches; i < view->island->touches_end; i++)
        if (touch_at(view, i)->is_stiff)
            return 1;
    return 0;
}

/* Remember of each contact whether it pushes, whether its patch sticks, its impulse and its slip,
 * for the next solution to begin with. */
static void rows_remember(const View *view)
{
    for (int i = view->island->touches; i < view->island->touches_end; i++) {
        const int number = view->system->touch_order[i];
        const Touch *touch = touch_at(view, i);
        if (number >= view->world->memory_limit)
            continue;
        ContactMemory *memory = &view->world->memory[number];
        const int sticks = view->system->frictions[touch->friction].sticks;
        memory->active = (touch->row.is_free ? 0 : 1) | sticks << STICKS_BIT;
        memory->impulse = touch->row.impulse;
        memory->load = touch->load;
        memory->jammed = touch->jammed_left;
        memory->right = touch->right_left;
        hrp_friction_slip(&view->system->frictions[touch->friction], touch, memory->slip);
    }
}

/* Find the solution whose friction has the bounds that follow from it, unless other bounds do not
 * bring these nearer; iteration is 0 if the rows are those of a guess, not of a solution. Returns 0
 * if a number is not finite. */
static int solve_loads(const View *view, int iteration)
{
    dReal most_lag = dInfinity;
    for (int load = 1;; load++) {
        if (!minimize(view, &iteration, load == MAX_LOADS ? 0.0 : most_lag))
            return 0;
        const dReal lag = loads_lag(view);
        const Check check = solution_check(view);
        const int was_solved = is_solved(view, &check, lag);
        const int changes = loads_update(view, check.largest);
        if ((!changes && was_solved) || lag >= most_lag || load == MAX_LOADS)
            return 1;
        most_lag = changes ? PROGRESS * lag : 0.0; /* 0: what was rough is to be solved */
        rows_linearize(view, 1, check.largest);
    }
}

int hrp_island_solve(World *world, const Island *island)
{
    View view = {.world = world, .system = world->system, .island = island};
    rows_list(&view);
    rows_begin(&view);
    if (!solve_loads(&view, 0))
        return 0;
    while (hrp_overlaps_soften(&view)) {
        for (int i = 0; i < view.row_count; i++)
            view.rows[i]->wanted = wanted_impulse(view.rows[i]);
        rows_linearize(&view, 0, 0.0);
        if (!solve_loads(&view, 1))
            return 0;
    }
    rows_remember(&view);
    if (is_stiff(&view))
        refine(&view);
    return 1;
}
