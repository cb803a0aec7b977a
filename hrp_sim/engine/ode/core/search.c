/* The line search of the exact solver: how far to go along a step of Newton's method. */
#include "search.h"
#include "friction.h"

#include <math.h>

#define MAX_SEARCHES 40
#define TOLERANCE 1e-3 /* of the derivative, relative to those at both ends of the step */

/* A line search along Newton's step d: the derivative of the minimized function at x d. That of
 * Newton's model is zero at x = 1, so the part without bounds follows from the impulses there. */
typedef struct {
    dReal smooth; /* curvature of the part without bounds */
    dReal x, derivative, curvature;
} Search;

static void row_search(const BoundedRow *row, Search *search)
{
    const dReal change = row->rate - row->rate_before;
    const dReal at = row->wanted_before + search->x * (row->wanted - row->wanted_before);
    const dReal impulse = clamp(at, row->lower, row->upper);
    search->derivative += change * (row->impulse - impulse);
    if (impulse == at)
        search->curvature += change * change / row->softness;
}

static void rows_search(const View *view, Search *search)
{
    search->derivative = search->smooth * (search->x - 1.0);
    search->curvature = search->smooth;
    for (int i = 0; i < view->row_count; i++)
        row_search(view->rows[i], search);
    for (int i = 0; i < view->friction_count; i++)
        hrp_friction_search(view->system, view->frictions[i], search->x, &search->derivative,
                            &search->curvature);
}

/* Return the curvature along Newton's step, without that of rows with bounds. */
static dReal smooth_curvature(const View *view)
{
    const System *system = view->system;
    dReal sum = 0.0;
    for (int at = view->island->first; at < view->island->end; at++) {
        const int vertex = system->vertex_at[at];
        if (vertex >= system->node_count)
            continue;
        const Node *node = &system->nodes[vertex];
        const dReal *dv = dv_of(system, vertex), *before = system->dv_before + 6 * (size_t)vertex;
        dReal d[6], turned[3];
        for (int k = 0; k < 6; k++)
            d[k] = dv[k] - before[k];
        rotate3(turned, node->I_W, d + 3);
        sum += node->mass * dot3(d, d) + dot3(d + 3, turned);
    }
    for (int i = view->island->couplings; i < view->island->couplings_end; i++) {
        const Coupling *coupling = coupling_at(view, i);
        for (int r = 0; r < coupling->rows && !coupling->is_tree; r++) {
            dReal change = coupling->impulse[r] - coupling->impulse_before[r];
            sum += coupling->softness[r] * change * change;
        }
    }
    return sum;
}

/* Return where between two fractions the search is to go on: where the slip of a patch is least, as
 * its friction changes most there, or else in the middle. */
static dReal between(const View *view, dReal lower, dReal upper)
{
    const dReal middle = (lower + upper) / 2.0;
    dReal best = lower;
    for (int i = 0; i < view->friction_count; i++) {
        const dReal x = hrp_friction_least_slip(view->frictions[i]);
        if (x > lower && x < upper && fabs(x - middle) < fabs(best - middle))
            best = x;
    }
    return best > lower ? best : middle;
}

dReal hrp_line_search(const View *view)
{
    Search state = {.smooth = smooth_curvature(view), .x = 1.0};
    dReal lower = 0.0, upper = 1.0;
    for (int i = 0; i < view->friction_count; i++)
        hrp_friction_search_begin(view->system, view->frictions[i]);
    rows_search(view, &state);
    if (!(state.derivative > 0.0) || !(state.curvature > 0.0))
        return 1.0;
    const dReal tolerance = TOLERANCE * min_real(state.derivative, state.smooth);
    for (int i = 0; i < MAX_SEARCHES; i++) {
        if (state.derivative > 0.0)
            upper = state.x;
        else
            lower = state.x;
        dReal next = state.x - state.derivative / state.curvature;
        if (!(next > lower && next < upper))
            next = between(view, lower, upper);
        if (next == state.x)
            break;
        state.x = next;
        rows_search(view, &state);
        if (fabs(state.derivative) <= tolerance)
            break;
    }
    return state.x;
}
