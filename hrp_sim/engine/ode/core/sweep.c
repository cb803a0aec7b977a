/* Pairs of bodies whose bounding boxes overlap, found by sweeping along the axis on which the
 * bodies are spread most. The pairs are sorted, so they depend on the state alone; the order along
 * the axis, kept from step to step since it hardly changes, only saves time. */
#include "sweep.h"
#include "bounds.h"

#include <stdlib.h>
#include <string.h>

/* Reserve memory for the bodies of a world. Returns 0 when memory is short. */
static int bodies_reserve(Sweep *sweep, int count)
{
    if (sweep->starts && count == sweep->count)
        return 1;
    size_t size = (size_t)count + 1;
    Span *spans = realloc(sweep->spans, size * sizeof *spans);
    if (spans)
        sweep->spans = spans;
    int *starts = realloc(sweep->starts, size * sizeof *starts);
    if (starts)
        sweep->starts = starts;
    sweep->count = spans && starts ? count : -1;
    for (int i = 0; i < count && sweep->count == count; i++)
        spans[i].body = i;
    return sweep->count == count;
}

/* Append a pair. Returns 0 when memory is short. */
static int pair_append(Sweep *sweep, int a, int b)
{
    const int count = sweep->pair_count + 1;
    int capacity = sweep->capacity; /* of both */
    if (!hrp_array_reserve(&sweep->found, &capacity, count, sizeof(BodyPair)) ||
        !hrp_array_reserve(&sweep->pairs, &sweep->capacity, count, sizeof(BodyPair)))
        return 0;
    sweep->found[sweep->pair_count++] = a < b ? (BodyPair){{a, b}} : (BodyPair){{b, a}};
    return 1;
}

/* Read the boxes of all bodies, and return the axis along which they are spread most. */
static int spans_read(Sweep *sweep, Body *const *bodies)
{
    dReal sum[3] = {0.0, 0.0, 0.0}, square[3] = {0.0, 0.0, 0.0}, spread[3];
    int widest = 0;
    for (int i = 0; i < sweep->count; i++) {
        Span *span = &sweep->spans[i];
        const Body *body = bodies[span->body];
        for (int k = 0; k < 3; k++) {
            const dReal *moving = body->moving.box + 2 * k, *fixed = body->fixed.box + 2 * k;
            span->box[2 * k] = min_real(moving[0], fixed[0]);
            span->box[2 * k + 1] = max_real(moving[1], fixed[1]);
            if (!(span->box[2 * k] <= span->box[2 * k + 1])) /* a body without shapes */
                continue;
            dReal middle = 0.5 * (span->box[2 * k] + span->box[2 * k + 1]);
            sum[k] += middle;
            square[k] += middle * middle;
        }
    }
    for (int k = 0; k < 3; k++) {
        spread[k] = square[k] - sum[k] * sum[k] / max_real(sweep->count, 1);
        if (spread[k] > spread[widest])
            widest = k;
    }
    return widest;
}

/* Sort spans by their lower ends; they are nearly sorted. */
static void spans_sort(Sweep *sweep, int axis)
{
    Span *spans = sweep->spans;
    for (int i = 1; i < sweep->count; i++) {
        if (!(spans[i].box[2 * axis] < spans[i - 1].box[2 * axis]))
            continue;
        Span span = spans[i];
        int j = i;
        for (; j > 0 && span.box[2 * axis] < spans[j - 1].box[2 * axis]; j--)
            spans[j] = spans[j - 1];
        spans[j] = span;
    }
}

/* Sort pairs by one of their bodies, keeping the order of equal ones. */
static void pairs_sort(const Sweep *sweep, const BodyPair *from, BodyPair *to, int side)
{
    int *starts = sweep->starts;
    memset(starts, 0, sizeof *starts * ((size_t)sweep->count + 1));
    for (int i = 0; i < sweep->pair_count; i++)
        starts[from[i].bodies[side] + 1]++;
    for (int i = 0; i < sweep->count; i++)
        starts[i + 1] += starts[i];
    for (int i = 0; i < sweep->pair_count; i++)
        to[starts[from[i].bodies[side]]++] = from[i];
}

/* List of each span the next one, itself or after it, whose body is awake. */
static void awake_list(const Sweep *sweep, Body *const *bodies)
{
    sweep->starts[sweep->count] = sweep->count;
    for (int i = sweep->count - 1; i >= 0; i--)
        sweep->starts[i] = bodies[sweep->spans[i].body]->asleep ? sweep->starts[i + 1] : i;
}

int hrp_sweep_pairs(World *world)
{
    Sweep *sweep = &world->sweep;
    sweep->pair_count = 0;
    if (!bodies_reserve(sweep, world->count))
        return 0;
    int axis = spans_read(sweep, world->bodies);
    spans_sort(sweep, axis);
    awake_list(sweep, world->bodies);
    for (int i = 0; i < sweep->count; i++) {
        const Span *a = &sweep->spans[i];
        const int sleeps = sweep->starts[i] != i; /* then with those that are awake alone */
        for (int j = i + 1; j < sweep->count; j++) {
            if (sleeps && (j = sweep->starts[j]) == sweep->count)
                break;
            const Span *b = &sweep->spans[j];
            if (!(b->box[2 * axis] <= a->box[2 * axis + 1]))
                break;
            if (boxes_overlap(a->box, b->box) && !pair_append(sweep, a->body, b->body))
                return 0;
        }
    }
    pairs_sort(sweep, sweep->found, sweep->pairs, 1);
    pairs_sort(sweep, sweep->pairs, sweep->found, 0);
    return 1;
}

void hrp_sweep_free(Sweep *sweep)
{
    free(sweep->spans);
    free(sweep->starts);
    free(sweep->found);
    free(sweep->pairs);
    *sweep = (Sweep){.count = 0};
}
