/* Solves the rows of an island with their bounds.
 *
 * Without the equations of couplings, which hold at any time, the changes of velocity minimize
 *
 *     1/2 (dv - M^-1 f)^T M (dv - M^-1 f) + sum over rows of phi(J dv):
 *
 * phi grows with the square of (target - J dv) while the impulse is within its bounds, and linearly
 * beyond. This function is strictly convex and piecewise quadratic, so Newton's method with an
 * exact line search ends at the one solution after finitely many iterations: first the rows that
 * are free, and those at their bounds, are found, then one linear system gives the solution to
 * rounding. It needs the factor of the matrix in each iteration, but no row is an unknown.
 *
 * Friction is that of dWorldStep: first all other rows are solved without it; mu times the normal
 * impulses then bound it. Contacts that are predicted to stick have no bounds; if the impulse of
 * one pulls or leaves the friction cone, it is solved again as a regular contact.
 */
#include "_core_solver.h"

#include <math.h>
#include <string.h>

#define MAX_ITERATIONS 60 /* fewer of islands with large matrices, see Island.excess */
#define MAX_ATTEMPTS 6    /* likewise, before no contact of the island is predicted to stick */
#define TOLERANCE 1e-9    /* of impulses, relative to the largest of the island */
#define ROUNDING 1e-13    /* likewise, relative to the largest impulse of its joints */
#define ALONE_BIT 6
#define MIN_STICKING_SHARE 4 /* one in so many contacts */

static Touch *touch_at(const View *view, int i)
{
    return &view->system->touches[view->system->touch_order[i]];
}

/* List the rows with bounds. */
static void rows_list(View *view)
{
    view->rows = view->system->bounded;
    view->row_count = 0;
    for (int i = view->island->couplings; i < view->island->couplings_end; i++) {
        Coupling *coupling = coupling_at(view, i);
        for (int k = 0; k < coupling->axis_rows; k++)
            view->rows[view->row_count++] = &coupling->axis[k];
    }
    for (int i = view->island->touches; i < view->island->touches_end; i++) {
        Touch *touch = touch_at(view, i);
        for (int r = 0; r < touch->rows; r++)
            view->rows[view->row_count++] = &touch->row[r];
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

/* Set bounds, and guess whether the row is at one of them; active: two bits, see row_bits. */
static void row_begin(BoundedRow *row, dReal lower, dReal upper, int active)
{
    row->lower = lower;
    row->upper = upper;
    row->at_upper = active >> 1;
    row->impulse = row->at_upper ? upper : lower;
    row->is_free = lower < upper && (!(active & 1) || !isfinite(row->impulse));
}

/* Return whether a row is at a bound, and whether at the upper one: a bit each. */
int row_bits(const BoundedRow *row)
{
    return row->is_free ? 0 : 1 + 2 * row->at_upper;
}

/* Return what is remembered of the rows of a contact, see rows_remember. */
static int active_before(const View *view, int i)
{
    const int number = view->system->touch_order[i];
    const World *world = view->world;
    return number < world->candidate_limit ? world->memory[number].active : 0;
}

/* Set all bounds but those of friction, and guess that rows are at the bounds of the last step. */
static void rows_begin(const View *view)
{
    for (int i = view->island->couplings; i < view->island->couplings_end; i++) {
        Coupling *coupling = coupling_at(view, i);
        for (int k = 0; k < coupling->axis_rows; k++) {
            BoundedRow *row = &coupling->axis[k];
            row_begin(row, row->lower, row->upper, row_bits(row));
        }
    }
    for (int i = view->island->touches; i < view->island->touches_end; i++) {
        Touch *touch = touch_at(view, i);
        if (touch->sticks)
            row_begin(&touch->row[0], -dInfinity, dInfinity, 0);
        else
            row_begin(&touch->row[0], 0.0, dInfinity, active_before(view, i) >> ALONE_BIT);
        for (int r = 1; r < touch->rows; r++) {
            if (touch->sticks)
                row_begin(&touch->row[r], -dInfinity, dInfinity, 0);
            else
                row_begin(&touch->row[r], 0.0, 0.0, 1);
        }
    }
}

/* Bound the friction of a regular contact by its normal impulse, and guess that its rows are at the
 * bounds of the last step. */
static void touch_begin_friction(Touch *touch, int active)
{
    const dReal normal = fabs(touch->row[0].impulse);
    row_begin(&touch->row[0], 0.0, dInfinity, active & 1);
    for (int r = 1; r < touch->rows; r++) {
        dReal bound = normal > 0.0 ? touch->friction[r - 1] * normal : 0.0;
        row_begin(&touch->row[r], -bound, bound, active >> 2 * r & 3);
    }
}

/* Begin the solution with friction after that without. Returns whether there is any. */
static int friction_begin(const View *view)
{
    int found = 0;
    for (int i = view->island->touches; i < view->island->touches_end; i++) {
        Touch *touch = touch_at(view, i);
        touch->pushed = touch->row[0].is_free;
        found |= !touch->sticks && touch->rows > 1 && touch->row[0].impulse != 0.0;
    }
    for (int i = view->island->touches; found && i < view->island->touches_end; i++)
        if (!touch_at(view, i)->sticks)
            touch_begin_friction(touch_at(view, i), active_before(view, i));
    return found;
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

/* Add the impulses along the axis of a joint that are at their bounds. */
static void fixed_impulses_add(const System *system, const Coupling *coupling)
{
    for (int k = 0; k < coupling->axis_rows; k++)
        if (!coupling->axis[k].is_free)
            impulse_add(system, coupling->axis[k].impulse, coupling->first, coupling->second,
                        coupling->axis_first, coupling->axis_second);
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
        fixed_impulses_add(system, coupling_at(view, i));
    for (int i = view->island->touches; i < view->island->touches_end; i++) {
        const Touch *touch = touch_at(view, i);
        for (int r = 0; r < touch->rows; r++) {
            const BoundedRow *row = &touch->row[r];
            impulse_add(system, row->is_free ? row->target / row->softness : row->impulse,
                        touch->first, touch->second, touch->J_first + 6 * r,
                        touch->J_second + 6 * r);
        }
    }
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
    dReal left = coupling->impulse[5];
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

/* Compute the rates of all rows with bounds, and the impulses of those that are free. */
static void rates_update(const View *view)
{
    const System *system = view->system;
    for (int i = view->island->couplings; i < view->island->couplings_end; i++) {
        Coupling *coupling = coupling_at(view, i);
        if (!coupling->axis_rows)
            continue;
        dReal rate = rate_along(system, coupling->first, coupling->second, coupling->axis_first,
                                coupling->axis_second);
        for (int k = 0; k < coupling->axis_rows; k++)
            coupling->axis[k].rate = rate;
        axis_divide(coupling);
    }
    for (int i = view->island->touches; i < view->island->touches_end; i++) {
        Touch *touch = touch_at(view, i);
        for (int r = 0; r < touch->rows; r++) {
            BoundedRow *row = &touch->row[r];
            row->rate = rate_along(system, touch->first, touch->second, touch->J_first + 6 * r,
                                   touch->J_second + 6 * r);
            row->wanted = wanted_impulse(row);
            if (row->is_free)
                row->impulse = row->wanted;
        }
    }
}

/* Solve with the free rows as they are. Returns 0 if a number is not finite. */
static int solve_free(const View *view)
{
    System *system = view->system;
    matrix_assemble(system, view->island);
    if (!matrix_factor(view->world, view->island))
        return 0;
    rhs_set(view);
    matrix_solve(system, view->island, system->x);
    for (int at = view->island->first; at < view->island->end; at++) {
        const int vertex = system->vertex_at[at];
        const dReal *x = system->x + 6 * (size_t)at;
        if (vertex < system->node_count)
            memcpy(dv_of(system, vertex), x, 6 * sizeof(dReal));
        else
            for (int r = 0; r < 6; r++)
                system->couplings[vertex - system->node_count].impulse[r] = -x[r];
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

/* Improve the solution by that for its residuals. */
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
        const Coupling *coupling = coupling_at(view, i);
        const int vertex = system->node_count + (int)(coupling - system->couplings);
        dReal *x = system->x + 6 * (size_t)system->position_of[vertex];
        for (int r = 0; r < 6; r++) {
            const dReal *J_first = coupling->J_first + 6 * r;
            const dReal *J_second = coupling->J_second + 6 * r;
            int exists = r < coupling->rows || (r == 5 && coupling->axis_rows);
            x[r] = 0.0;
            if (!exists)
                continue;
            x[r] = coupling->target[r] - coupling->softness[r] * coupling->impulse[r] -
                   rate_along(system, coupling->first, coupling->second, J_first, J_second);
            impulse_add(system, coupling->impulse[r], coupling->first, coupling->second, J_first,
                        J_second);
        }
        if (coupling->gear) {
            x[0] -= gear_rate(system, coupling);
            gear_impulse_add(system, coupling);
        }
        fixed_impulses_add(system, coupling);
    }
    for (int i = view->island->touches; i < view->island->touches_end; i++) {
        const Touch *touch = touch_at(view, i);
        for (int r = 0; r < touch->rows; r++)
            impulse_add(system, touch->row[r].impulse, touch->first, touch->second,
                        touch->J_first + 6 * r, touch->J_second + 6 * r);
    }
    matrix_solve(system, view->island, system->x);
    for (int at = view->island->first; at < view->island->end; at++) {
        const int vertex = system->vertex_at[at];
        const dReal *x = system->x + 6 * (size_t)at;
        for (int k = 0; k < 6; k++)
            if (vertex < system->node_count)
                dv_of(system, vertex)[k] += x[k];
            else
                system->couplings[vertex - system->node_count].impulse[k] -= x[k];
    }
    rates_update(view);
}

/* What a pass over all rows with bounds computes. */
typedef struct {
    dReal largest;   /* impulse */
    dReal violation; /* largest difference from a feasible impulse */
} Check;

static void row_check(const BoundedRow *row, Check *check)
{
    dReal feasible = clamp(row->wanted, row->lower, row->upper);
    check->largest = max_real(check->largest, fabs(row->impulse));
    check->violation = max_real(check->violation, fabs(feasible - row->impulse));
}

/* Whether all free rows are within their bounds, and the others belong there. Where nothing but
 * rounding acts on them, as in a balanced arm at rest, impulses of joints tell how large that is. */
static int is_solved(const View *view)
{
    Check check = {0.0, 0.0};
    for (int i = 0; i < view->row_count; i++)
        row_check(view->rows[i], &check);
    if (check.violation <= TOLERANCE * check.largest)
        return 1;
    dReal held = 0.0;
    for (int i = view->island->couplings; i < view->island->couplings_end; i++)
        for (int r = 0; r < 6; r++)
            held = max_real(held, fabs(coupling_at(view, i)->impulse[r]));
    return check.violation <= ROUNDING * held;
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
        memcpy(coupling->impulse_before, coupling->impulse, sizeof coupling->impulse);
    }
    for (int i = 0; i < view->row_count; i++) {
        BoundedRow *row = view->rows[i];
        row->rate_before = row->rate;
        row->wanted_before = row->wanted;
    }
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
        for (int r = 0; r < 6; r++)
            coupling->impulse[r] = coupling->impulse_before[r] +
                                   x * (coupling->impulse[r] - coupling->impulse_before[r]);
    }
    for (int i = 0; i < view->row_count; i++) {
        BoundedRow *row = view->rows[i];
        row->rate = row->rate_before + x * (row->rate - row->rate_before);
        row->wanted = row->wanted_before + x * (row->wanted - row->wanted_before);
    }
}

/* Find the free rows, from a guess on. A solution that is not reached within the permitted
 * iterations is the best found. Returns 0 if a number is not finite. */
static int minimize(const View *view)
{
    const int most = MAX_ITERATIONS / view->island->excess;
    for (int iteration = 0; iteration < most; iteration++) {
        if (iteration > 0)
            solution_keep(view);
        if (!solve_free(view))
            return 0;
        if (is_solved(view))
            return 1;
        dReal x = iteration > 0 ? line_search(view) : 1.0; /* the guess was no solution to go back to */
        if (x < 1.0)
            step_shorten(view, x);
        for (int i = 0; i < view->row_count; i++)
            row_classify(view->rows[i]);
    }
    return 1;
}

/* Whether the impulse that makes a contact stick pushes, and lies within the friction cone. */
static int holds(const Touch *touch)
{
    dReal push = touch->row[0].impulse, limit = touch->friction[0] * push;
    dReal a = touch->row[1].impulse, b = touch->row[2].impulse;
    return push >= 0.0 && (isinf(touch->friction[0]) || a * a + b * b <= limit * limit);
}

/* Make regular contacts of those that were wrongly predicted to stick. Returns whether there are
 * any. */
static int sticking_correct(const View *view, int disables)
{
    int found = 0;
    for (int i = view->island->touches; i < view->island->touches_end; i++) {
        Touch *touch = touch_at(view, i);
        if (touch->sticks && !holds(touch)) {
            sticking_back_off(view->world, view->system->touch_order[i]);
            touch->sticks = 0;
            found = 1;
        }
    }
    for (int i = view->island->touches; found && disables && i < view->island->touches_end; i++)
        touch_at(view, i)->sticks = 0;
    return found;
}

/* Make regular contacts of those that are predicted to stick, where most others are regular: their
 * friction is solved in any case, and predictions that fail cost another attempt. */
static void sticking_drop(const View *view)
{
    const int count = view->island->touches_end - view->island->touches;
    int sticking = 0;
    for (int i = view->island->touches; i < view->island->touches_end; i++)
        sticking += touch_at(view, i)->sticks;
    if (sticking * MIN_STICKING_SHARE >= count)
        return;
    for (int i = view->island->touches; i < view->island->touches_end; i++)
        touch_at(view, i)->sticks = 0;
}

/* Whether an island has contacts that are very stiff compared with their groups' inertia. */
static int is_stiff(const View *view)
{
    for (int i = view->island->touches; i < view->island->touches_end; i++)
        if (touch_at(view, i)->is_stiff)
            return 1;
    return 0;
}

/* Remember which rows of contacts are at their bounds, for the next solution to begin with: two bits
 * each, and one for the normal row in the solution without friction. */
static void rows_remember(const View *view)
{
    for (int i = view->island->touches; i < view->island->touches_end; i++) {
        const int number = view->system->touch_order[i];
        const Touch *touch = touch_at(view, i);
        if (number >= view->world->candidate_limit)
            continue;
        int active = !touch->pushed << ALONE_BIT;
        for (int r = 0; r < touch->rows; r++)
            active |= row_bits(&touch->row[r]) << 2 * r;
        view->world->memory[number].active = active;
    }
}

/* Solve an island. Returns 0 if a number is not finite. */
int island_solve(World *world, const Island *island)
{
    View view = {.world = world, .system = world->system, .island = island};
    rows_list(&view);
    sticking_drop(&view);
    for (int attempt = 1;; attempt++) {
        rows_begin(&view);
        if (!minimize(&view) || (friction_begin(&view) && !minimize(&view)))
            return 0;
        rows_remember(&view);
        if (!sticking_correct(&view, attempt * island->excess >= MAX_ATTEMPTS) &&
            !overlaps_soften(&view))
            break;
    }
    if (is_stiff(&view))
        refine(&view);
    return 1;
}
