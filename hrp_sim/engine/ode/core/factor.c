/* The matrix of the exact solver: its factor L D L^T in blocks of 6 x 6, and solutions with it.
 *
 * Of nodes (dv) and couplings (impulses p, softness S) it is
 *
 *     [ H  J^T ] [  dv ]   [ f      ]
 *     [ J  -S  ] [ -p  ] = [ target ],   H = M + sum over free rows of J^T J / softness,
 *
 * as a row without bounds has p = (target - J dv) / softness. With positive definite H and S it is
 * quasidefinite, and has such a factor in any order, with D = +1 for nodes and -1 for couplings
 * (R. J. Vanderbei, Symmetric quasidefinite matrices, SIAM J. Optimization 5, 1995). A block below
 * the diagonal is stored transposed, so that the innermost loops run along rows of 6 numbers.
 *
 * A node that follows another one by a joint of a tree has one unknown, the rate q along the axis:
 *
 *     dv = P dv_leader + s q,      P dv = (v + w x d, w),
 *
 * with d from the leader's centre of mass to its own, and the motion s at unit rate. With its
 * articulated inertia A, that of what follows it included, and blocks B_k beside it, elimination
 * leaves to its leader and to the others
 *
 *     P^T A' P,   P^T B'_k,   -w_j w_k^T / D,      A' = A - g g^T / D,   B'_k = B_k - g w_k^T / D,
 *     g = A s,    w_k = B_k^T s,                   D = s^T A s + stiffness of the axis:
 *
 * the articulated-body algorithm (R. Featherstone, Rigid Body Dynamics Algorithms, 2008), in which
 * contacts may connect any nodes. A' and B'_k replace A and B_k. A tree takes linear time.
 */
#include "factor.h"
#include "guard.h"

#include <math.h>
#include <string.h>

#define UNROLLED _Pragma("GCC unroll 6")
#define LONG_ROW 16     /* blocks of a row whose elimination takes some time */
#define MIN_PIVOT 1e-14 /* relative to the diagonal before elimination */

/* Copy a block: faster than what compilers make of memcpy for this size. */
INLINE void block_copy(dReal *to, const dReal *from)
{
    _Pragma("GCC unroll 18") for (int i = 0; i < 18; i++)((Pair *)to)[i] = ((const Pair *)from)[i];
}

INLINE void block_clear(dReal *block)
{
    _Pragma("GCC unroll 18") for (int i = 0; i < 18; i++)((Pair *)block)[i] = (Pair){0.0};
}

/* Whether a block of a follower's column is one beside its joint: that with its leader may be zero. */
static int is_beside(const Follower *follower, int block)
{
    return block != follower->block || follower->is_linked;
}

static dReal *block_at(const System *system, int index)
{
    return system->block + 36 * (size_t)index;
}

static dReal *pivot_of(const System *system, int vertex)
{
    return system->pivot + 36 * (size_t)system->position_of[vertex];
}

/* Add factor * b to the first pairs of a row of a matrix. */
INLINE void add_row(dReal *A, int row, dReal factor, const dReal *b, int pairs)
{
    const Pair *of_b = (const Pair *)b;
    Pair *to = (Pair *)(A + 6 * row);
    for (int k = 0; k < pairs; k++)
        to[k] += factor * of_b[k];
}

/* Add factor * a b^T to a matrix. */
INLINE void add_outer(dReal *A, dReal factor, const dReal *a, const dReal *b)
{
    UNROLLED for (int row = 0; row < 6; row++) add_row(A, row, factor * a[row], b, 3);
}

/* Add factor * a a^T to a matrix, whose upper half is not used. */
INLINE void add_outer_square(dReal *A, dReal factor, const dReal *a)
{
    UNROLLED for (int row = 0; row < 6; row++) add_row(A, row, factor * a[row], a, 1 + row / 2);
}

static void node_assemble(const System *system, int n)
{
    const Node *node = &system->nodes[n];
    dReal *P = pivot_of(system, n);
    block_clear(P);
    for (int i = 0; i < 3; i++) {
        P[7 * i] = node->mass;
        for (int k = 0; k < 3; k++)
            P[6 * (3 + i) + 3 + k] = node->I_W[3 * i + k];
    }
}

/* Set the block of a coupling and a node: J, transposed if the node comes first. */
static void jacobian_set(System *system, int vertex, int node, int index, const dReal *J)
{
    dReal *B = block_at(system, index);
    if (system->position_of[vertex] < system->position_of[node]) {
        block_copy(B, J);
        return;
    }
    if (!system->is_changed[system->position_of[node]])
        return;
    UNROLLED for (int i = 0; i < 6; i++) UNROLLED for (int k = 0; k < 6; k++) B[6 * i + k] =
        J[6 * k + i];
}

static void coupling_assemble(System *system, int c)
{
    Coupling *coupling = &system->couplings[c];
    const int vertex = system->node_count + c;
    dReal *P = pivot_of(system, vertex);
    block_clear(P);
    for (int r = 0; r < 6; r++) /* rows that do not exist become unit rows of their own */
        P[7 * r] = r < coupling->rows ? coupling->softness[r] : 1.0;
    jacobian_set(system, vertex, coupling->first, coupling->block_first, coupling->J_first);
    if (coupling->second != WORLD_NODE)
        jacobian_set(system, vertex, coupling->second, coupling->block_second, coupling->J_second);
    for (int i = 0; coupling->gear && i < coupling->gear->count; i++)
        jacobian_set(system, vertex, coupling->gear->nodes[i], coupling->gear->blocks[i],
                     coupling->gear->J[i]);
}

/* The blocks of the matrix that rows between two groups stiffen, NULL for those that are not to be
 * set. */
typedef struct {
    dReal *first, *second, *between;
    int is_swapped; /* whether the second comes first in the elimination order */
} Blocks;

static dReal *changed_pivot(const System *system, int node)
{
    const int is_changed =
        node != WORLD_NODE && system->is_changed[system->position_of[node]];
    return is_changed ? pivot_of(system, node) : NULL;
}

static Blocks blocks_of(const System *system, int first, int second, int block)
{
    Blocks blocks = {.first = changed_pivot(system, first),
                     .second = changed_pivot(system, second)};
    if (blocks.first && blocks.second) {
        blocks.between = block_at(system, block);
        blocks.is_swapped = system->position_of[first] > system->position_of[second];
    }
    return blocks;
}

/* Add the stiffness of a row to the groups that it acts on. */
INLINE void stiffness_add(const Blocks *to, dReal stiffness, const dReal *J_first,
                          const dReal *J_second)
{
    if (to->first)
        add_outer_square(to->first, stiffness, J_first);
    if (to->second)
        add_outer_square(to->second, stiffness, J_second);
    if (to->between)
        add_outer(to->between, stiffness, to->is_swapped ? J_second : J_first,
                  to->is_swapped ? J_first : J_second);
}

/* Add the stiffness of friction: J^T S J, with S = L D L^T. */
INLINE void friction_assemble(const Blocks *blocks, const Friction *friction)
{
    const dReal *S = friction->slope;
    const dReal least = 1e-14 * (S[0] + S[3] + S[5]);
    dReal D[3] = {S[0], S[3], S[5]}, below[3] = {0.0, 0.0, S[4]}, rows[2][18];
    if (D[0] > least) {
        below[0] = S[1] / D[0];
        below[1] = S[2] / D[0];
        D[1] -= below[0] * S[1];
        D[2] -= below[1] * S[2];
        below[2] -= below[0] * S[2];
    }
    if (D[1] > least) {
        below[2] /= D[1];
        D[2] -= below[2] * below[2] * D[1];
    }
    memcpy(rows[0], friction->J_first, sizeof rows[0]);
    memcpy(rows[1], friction->J_second, sizeof rows[1]);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 6; i++) {
            dReal *J = rows[k] + i;
            J[0] += below[0] * J[6] + below[1] * J[12];
            J[6] += D[1] > least ? below[2] * J[12] : 0.0;
        }
    for (int r = 0; r < 3; r++)
        if (D[r] > least)
            stiffness_add(blocks, D[r], rows[0] + 6 * r, rows[1] + 6 * r);
}

/* Add the stiffness of a contact that pushes, and of the friction of the patch that it begins. */
INLINE void touch_assemble(const System *system, int t)
{
    const Touch *touch = &system->touches[t];
    const Blocks blocks = blocks_of(system, touch->first, touch->second, touch->block);
    if (!blocks.first && !blocks.second)
        return;
    if (touch->row.is_free)
        stiffness_add(&blocks, touch->row.stiffness, touch->J_first, touch->J_second);
    const Friction *friction = &system->frictions[touch->friction];
    if (friction->touch == t && friction->mu > 0.0)
        friction_assemble(&blocks, friction);
}

/* Note the stiffness of a row in the matrix. Returns whether it has changed. */
static int row_changes(BoundedRow *row)
{
    const dReal before = row->stiffness;
    row->stiffness = row->is_free ? 1.0 / row->softness : 0.0;
    return row->stiffness != before;
}

/* Likewise the slope of the friction of a patch. */
static int friction_changes(Friction *friction)
{
    if (memcmp(friction->assembled, friction->slope, sizeof friction->slope) == 0)
        return 0;
    memcpy(friction->assembled, friction->slope, sizeof friction->slope);
    return 1;
}

/* Mark the column of the first of two vertices, in which their block is. */
static void change_mark(System *system, int a, int b)
{
    const int at_a = system->position_of[a];
    const int at_b = b == WORLD_NODE ? at_a : system->position_of[b];
    system->is_changed[at_a < at_b ? at_a : at_b] = 1;
}

/* Mark the columns of an island that change in its factor: those of changed rows, and, as
 * elimination carries changes on to the first row of each column, all from there to the root. */
static void changes_find(System *system, const Island *island, int is_first)
{
    memset(system->is_changed + island->first, is_first, (size_t)(island->end - island->first));
    for (int i = island->couplings; i < island->couplings_end; i++) {
        Coupling *coupling = &system->couplings[system->coupling_order[i]];
        int changes = 0;
        coupling->stiffness = 0.0;
        for (int k = 0; k < coupling->axis_rows; k++) {
            changes |= row_changes(&coupling->axis[k]);
            coupling->stiffness += coupling->axis[k].stiffness;
        }
        if (changes)
            system->is_changed[coupling->follower] = 1;
    }
    for (int i = island->touches; i < island->touches_end; i++) {
        Touch *touch = &system->touches[system->touch_order[i]];
        Friction *friction = &system->frictions[touch->friction];
        int changes = row_changes(&touch->row);
        if (friction->touch == system->touch_order[i] && friction->mu > 0.0)
            changes |= friction_changes(friction);
        if (changes)
            change_mark(system, touch->first, touch->second);
    }
    for (int at = island->first; at < island->end; at++)
        if (system->is_changed[at] && system->column_start[at] < system->column_start[at + 1])
            system->is_changed[system->row[system->column_start[at]]] = 1;
}

WIDE void hrp_matrix_assemble(System *system, const Island *island, int is_first)
{
    changes_find(system, island, is_first);
    for (int at = island->first; at < island->end; at++) {
        const int vertex = system->vertex_at[at], start = system->column_start[at];
        if (!system->is_changed[at])
            continue;
        for (int i = start; i < system->column_start[at + 1]; i++)
            if (is_beside(&system->followers[at], i))
                block_clear(block_at(system, i));
        if (vertex < system->node_count)
            node_assemble(system, vertex);
        else
            coupling_assemble(system, vertex - system->node_count);
    }
    for (int i = island->touches; i < island->touches_end; i++)
        touch_assemble(system, system->touch_order[i]);
}

/* Replace a positive definite matrix by the inverse of its Cholesky factor: products with it need
 * not wait for each other as substitutions do, nor the pivots here for square roots. Returns 0 if
 * a number is not finite. A pivot that rounding made too small is raised. */
INLINE int invert_factor(dReal *restrict A)
{
    dReal W[36] = {0.0}, pivots[6], least[6];
    for (int j = 0; j < 6; j++) {
        least[j] = MIN_PIVOT * fabs(A[7 * j]);
        W[7 * j] = 1.0;
    }
    UNROLLED for (int j = 0; j < 6; j++)
    {
        dReal pivot = A[7 * j];
        if (!(pivot > least[j])) {
            if (!isfinite(pivot) || least[j] == 0.0)
                return 0;
            pivot = least[j];
        }
        const dReal inverse = 1.0 / pivot;
        pivots[j] = pivot;
        UNROLLED for (int i = j + 1; i < 6; i++)
        {
            const dReal factor = A[6 * i + j] * inverse;
            UNROLLED for (int k = j + 1; k <= i; k++) A[6 * i + k] -= factor * A[6 * k + j];
            UNROLLED for (int k = 0; k <= j; k++) W[6 * i + k] -= factor * W[6 * j + k];
        }
    }
    UNROLLED for (int j = 0; j < 6; j++)
    {
        const dReal scale = 1.0 / sqrt(pivots[j]);
        UNROLLED for (int k = 0; k <= j; k++) A[6 * j + k] = scale * W[6 * j + k];
    }
    return 1;
}

/* Multiply a transposed block with the inverse factor of its column. */
INLINE void divide_block(dReal *B, const dReal *inverse)
{
    Pair *of_B = (Pair *)B;
    UNROLLED for (int j = 5; j >= 0; j--)
    {
        Pair sums[3] = {{0.0}};
        UNROLLED for (int k = 0; k <= j; k++) UNROLLED for (int i = 0; i < 3; i++) sums[i] +=
            inverse[6 * j + k] * of_B[3 * k + i];
        memcpy(of_B + 3 * j, sums, sizeof sums);
    }
}

/* Add sign * A^T B to the first pairs of a row of a matrix. */
INLINE void add_product_row(dReal *C, dReal sign, const dReal *A, const dReal *B, int row,
                            int pairs)
{
    const Pair *of_B = (const Pair *)B;
    Pair *to = (Pair *)(C + 6 * row), sums[3] = {{0.0}};
    UNROLLED for (int m = 0; m < 6; m++) UNROLLED for (int k = 0; k < pairs; k++) sums[k] +=
        A[6 * m + row] * of_B[3 * m + k];
    for (int k = 0; k < pairs; k++)
        to[k] += sign * sums[k];
}

/* Add sign * A^T B to a matrix. */
INLINE void add_product(dReal *C, dReal sign, const dReal *A, const dReal *B)
{
    UNROLLED for (int row = 0; row < 6; row++) add_product_row(C, sign, A, B, row, 3);
}

/* Add sign * A^T A to a matrix, whose upper half is not used. */
INLINE void add_square(dReal *C, dReal sign, const dReal *A)
{
    UNROLLED for (int row = 0; row < 6; row++) add_product_row(C, sign, A, A, row, 1 + row / 2);
}

/* Return the vector by which a node follows its leader. */
static void reach_of(const Coupling *joint, int side, dReal d[3])
{
    for (int i = 0; i < 3; i++)
        d[i] = side ? -joint->reach[i] : joint->reach[i];
}

/* Compute what a wrench on a follower is on its leader. */
INLINE void wrench_pass(const Coupling *joint, int side, const dReal wrench[6], dReal passed[6])
{
    dReal d[3], moment[3];
    reach_of(joint, side, d);
    cross3(moment, d, wrench);
    for (int i = 0; i < 3; i++) {
        passed[i] = wrench[i];
        passed[3 + i] = wrench[3 + i] + moment[i];
    }
}

/* Compute P^T B. */
INLINE void block_pass(const dReal d[3], const dReal *B, dReal *passed)
{
    const Pair *of_B = (const Pair *)B;
    Pair *to = (Pair *)passed;
    UNROLLED for (int k = 0; k < 3; k++)
    {
        const Pair x = of_B[k], y = of_B[3 + k], z = of_B[6 + k];
        to[k] = x;
        to[3 + k] = y;
        to[6 + k] = z;
        to[9 + k] = of_B[9 + k] + d[1] * z - d[2] * y;
        to[12 + k] = of_B[12 + k] + d[2] * x - d[0] * z;
        to[15 + k] = of_B[15 + k] + d[0] * y - d[1] * x;
    }
}

/* Add sign * B^T to a matrix; of a pivot the upper half is not used. */
INLINE void add_transposed(dReal *C, dReal sign, const dReal *B)
{
    UNROLLED for (int i = 0; i < 6; i++) UNROLLED for (int k = 0; k < 6; k++) C[6 * i + k] +=
        sign * B[6 * k + i];
}

/* Add what a follower leaves to the pivot of its leader, whose upper half is not used. */
INLINE void leader_add(dReal *pivot, const dReal d[3], const dReal *A, const Follower *follower,
                       const dReal *B, const dReal *w)
{
    dReal half[36];
    block_pass(d, A, half);
    UNROLLED for (int i = 0; i < 3; i++) add_row(pivot, i, 1.0, half + 6 * i, 2);
    UNROLLED for (int i = 3; i < 6; i++)
    {
        const dReal *row = half + 6 * i;
        Pair *to = (Pair *)(pivot + 6 * i);
        to[0] += (Pair){row[0], row[1]};
        to[1] += (Pair){row[2], row[3] + (d[1] * row[2] - d[2] * row[1])};
        to[2] += (Pair){row[4] + (d[2] * row[0] - d[0] * row[2]),
                        row[5] + (d[0] * row[1] - d[1] * row[0])};
    }
    if (!follower->is_linked)
        return;
    block_pass(d, B, half);
    UNROLLED for (int i = 0; i < 6; i++) add_row(pivot, i, 1.0, half + 6 * i, 3);
    add_transposed(pivot, 1.0, half);
    add_outer_square(pivot, -follower->inverse, w);
}

/* Subtract from a column what a follower to its left leaves. */
INLINE void follower_eliminate(System *system, int at, RowBlock left)
{
    const Follower *follower = &system->followers[left.column];
    const int end = system->column_start[left.column + 1];
    const dReal *w = system->block_gain + 6 * (size_t)left.block;
    const dReal *B = block_at(system, left.block);
    const int is_leader = at == follower->leader;
    const int has_w = !is_leader || follower->is_linked;
    dReal *pivot = system->pivot + 36 * (size_t)at, d[3], passed[36];
    reach_of(&system->couplings[follower->coupling], follower->side, d);
    if (is_leader)
        leader_add(pivot, d, system->pivot + 36 * (size_t)left.column, follower, B, w);
    else /* the pivots of couplings are stored with the sign that makes them positive */
        add_outer_square(
            pivot,
            system->vertex_at[at] < system->node_count ? -follower->inverse : follower->inverse, w);
    int target = system->column_start[at];
    for (int k = left.block + 1; k < end; k++) {
        const int is_to_leader = system->row[k] == follower->leader;
        while (system->row[target] != system->row[k])
            target++;
        dReal *to = block_at(system, target);
        if (is_leader) {
            block_pass(d, block_at(system, k), passed);
            UNROLLED for (int i = 0; i < 6; i++) add_row(to, i, 1.0, passed + 6 * i, 3);
        } else if (is_to_leader) {
            block_pass(d, B, passed);
            add_transposed(to, 1.0, passed);
        }
        if (has_w && (!is_to_leader || follower->is_linked))
            add_outer(to, -follower->inverse, w, system->block_gain + 6 * (size_t)k);
    }
}

/* Set the upper half of a symmetric matrix. By pairs, as a processor waits before it can read two
 * numbers at once that were written one by one. */
INLINE void upper_set(dReal *A)
{
    Pair *of_A = (Pair *)A;
    UNROLLED for (int i = 0; i < 3; i++) UNROLLED for (int k = i; k < 3; k++)
    {
        const Pair first = of_A[6 * k + i], second = of_A[6 * k + 3 + i];
        of_A[6 * i + k] = (Pair){first[0], second[0]};
        of_A[6 * i + 3 + k] = (Pair){k > i ? first[1] : second[0], second[1]};
    }
}

/* Compute what a follower leaves to others: A' and B'_k. Returns 0 if a number is not finite. */
INLINE int follower_factor(System *system, int at)
{
    Follower *follower = &system->followers[at];
    const Coupling *joint = &system->couplings[follower->coupling];
    const dReal *s = joint->motion[follower->side];
    dReal *A = system->pivot + 36 * (size_t)at, *g = follower->gain, inertia = 0.0, least = 0.0;
    upper_set(A);
    for (int i = 0; i < 6; i++)
        least += fabs(A[7 * i]) * s[i] * s[i];
    UNROLLED for (int i = 0; i < 6; i++)
    {
        g[i] = dot6(A + 6 * i, s);
        inertia += g[i] * s[i];
    }
    least *= MIN_PIVOT;
    if (!(inertia > least)) {
        if (!isfinite(inertia))
            return 0;
        inertia = least;
    }
    follower->inverse = inertia > 0.0 ? 1.0 / (inertia + joint->stiffness) : 0.0; /* 0: fixed */
    UNROLLED for (int i = 0; i < 6; i++) add_row(A, i, -follower->inverse * g[i], g, 3);
    for (int b = system->column_start[at]; b < system->column_start[at + 1]; b++) {
        dReal *B = block_at(system, b), w[6] = {0.0};
        if (!is_beside(follower, b))
            continue;
        UNROLLED for (int i = 0; i < 6; i++) add_row(w, 0, s[i], B + 6 * i, 3);
        UNROLLED for (int i = 0; i < 6; i++) add_row(B, i, -follower->inverse * g[i], w, 3);
        memcpy(system->block_gain + 6 * (size_t)b, w, sizeof w);
    }
    return 1;
}

/* Subtract from a column the products of those to its left. */
INLINE void column_eliminate(System *system, int at)
{
    dReal *pivot = system->pivot + 36 * (size_t)at;
    const int is_node = system->vertex_at[at] < system->node_count;
    for (int l = system->left_start[at]; l < system->left_start[at + 1]; l++) {
        const RowBlock left = system->left[l];
        if (system->followers[left.column].coupling >= 0) {
            follower_eliminate(system, at, left);
            continue;
        }
        const int end = system->column_start[left.column + 1];
        const dReal sign = system->vertex_at[left.column] < system->node_count ? 1.0 : -1.0;
        const dReal *A = block_at(system, left.block);
        /* The pivots of couplings are stored with the sign that makes them positive. */
        add_square(pivot, is_node ? -sign : sign, A);
        int target = system->column_start[at];
        for (int k = left.block + 1; k < end; k++) {
            while (system->row[target] != system->row[k])
                target++;
            add_product(block_at(system, target), -sign, A, block_at(system, k));
        }
    }
}

WIDE int hrp_matrix_factor(World *world, const Island *island)
{
    System *system = world->system;
    for (int at = island->first; at < island->end; at++) {
        if (!system->is_changed[at])
            continue;
        dReal *P = system->pivot + 36 * (size_t)at;
        const int length = system->left_start[at + 1] - system->left_start[at];
        if (length > LONG_ROW && hrp_is_interrupted(world))
            return 0;
        column_eliminate(system, at);
        if (system->followers[at].coupling >= 0) {
            if (!follower_factor(system, at))
                return 0;
            continue;
        }
        if (!invert_factor(P))
            return 0;
        for (int i = system->column_start[at]; i < system->column_start[at + 1]; i++)
            divide_block(block_at(system, i), P);
    }
    return 1;
}

/* Pass on what acts on a follower, less what moves it along the axis. */
INLINE void follower_forward(const System *system, int at, dReal *x)
{
    const Follower *follower = &system->followers[at];
    Coupling *joint = &system->couplings[follower->coupling];
    const dReal *b = x + 6 * (size_t)at;
    const dReal along = dot6(joint->motion[follower->side], b);
    const dReal rate = follower->inverse * (along + joint->pull);
    joint->solved_rate = rate;
    joint->solved_impulse = -along;
    if (joint->is_watched)
        memcpy(joint->impulse, b, 6 * sizeof(dReal));
    if (follower->leader >= 0) {
        dReal rest[6], passed[6], *to = x + 6 * (size_t)follower->leader;
        for (int i = 0; i < 6; i++)
            rest[i] = b[i] - rate * follower->gain[i];
        wrench_pass(joint, follower->side, rest, passed);
        for (int i = 0; i < 6; i++)
            to[i] += passed[i];
    }
    for (int i = system->column_start[at]; i < system->column_start[at + 1]; i++)
        if (is_beside(follower, i))
            add_row(x + 6 * (size_t)system->row[i], 0, -rate,
                    system->block_gain + 6 * (size_t)i, 3);
}

/* Compute the impulse of a watched joint on its first node: what the equations of the follower lack
 * but for what acts along the axis. Its right-hand side was kept. */
static void joint_impulse_set(const System *system, int at, Coupling *joint, const dReal *x)
{
    const Follower *follower = &system->followers[at];
    const dReal *A = system->pivot + 36 * (size_t)at, *dv = x + 6 * (size_t)at;
    const dReal *axis = follower->side ? joint->axis_second : joint->axis_first;
    dReal lacks[6], passed[6], along = dot6(follower->gain, dv);
    for (int i = 0; i < 6; i++)
        lacks[i] = dot6(A + 6 * i, dv) - joint->impulse[i] - joint->solved_impulse * axis[i];
    for (int b = system->column_start[at]; b < system->column_start[at + 1]; b++) {
        const dReal *other = x + 6 * (size_t)system->row[b];
        if (!is_beside(follower, b))
            continue;
        along += dot6(system->block_gain + 6 * (size_t)b, other);
        for (int i = 0; i < 6; i++)
            lacks[i] += dot6(block_at(system, b) + 6 * i, other);
    }
    for (int i = 0; i < 6; i++)
        lacks[i] += follower->inverse * along * follower->gain[i];
    wrench_pass(joint, 1, lacks, passed);
    for (int i = 0; i < 6; i++)
        joint->impulse[i] = follower->side ? -passed[i] : lacks[i];
}

/* Let a node follow its leader, and move along the axis. */
INLINE void follower_backward(const System *system, int at, dReal *x)
{
    const Follower *follower = &system->followers[at];
    Coupling *joint = &system->couplings[follower->coupling];
    const dReal *s = joint->motion[follower->side];
    dReal *dv = x + 6 * (size_t)at, beside = 0.0;
    if (follower->leader < 0) {
        memset(dv, 0, 6 * sizeof(dReal));
    } else {
        const dReal *leads = x + 6 * (size_t)follower->leader;
        dReal d[3];
        reach_of(joint, follower->side, d);
        cross3(dv, leads + 3, d);
        for (int i = 0; i < 3; i++) {
            dv[i] += leads[i];
            dv[3 + i] = leads[3 + i];
        }
    }
    for (int i = system->column_start[at]; i < system->column_start[at + 1]; i++)
        if (is_beside(follower, i))
            beside += dot6(system->block_gain + 6 * (size_t)i, x + 6 * (size_t)system->row[i]);
    const dReal rate =
        joint->solved_rate - follower->inverse * (dot6(follower->gain, dv) + beside);
    for (int i = 0; i < 6; i++)
        dv[i] += rate * s[i];
    joint->solved_rate = rate;
    joint->solved_impulse += dot6(follower->gain, dv) + beside;
    if (joint->is_watched)
        joint_impulse_set(system, at, joint, x);
}

WIDE void hrp_matrix_solve(const System *system, const Island *island, dReal *x)
{
    for (int at = island->first; at < island->end; at++) {
        if (system->followers[at].coupling >= 0) {
            follower_forward(system, at, x);
            continue;
        }
        const dReal *inverse = system->pivot + 36 * (size_t)at;
        const dReal sign = system->vertex_at[at] < system->node_count ? 1.0 : -1.0;
        dReal *b = x + 6 * (size_t)at, y[6];
        UNROLLED for (int j = 0; j < 6; j++)
        {
            y[j] = 0.0;
            UNROLLED for (int k = 0; k <= j; k++) y[j] += inverse[6 * j + k] * b[k];
        }
        memcpy(b, y, sizeof y);
        for (int i = system->column_start[at]; i < system->column_start[at + 1]; i++) {
            const dReal *W = block_at(system, i);
            const Pair *of_W = (const Pair *)W;
            Pair *to = (Pair *)(x + 6 * (size_t)system->row[i]), sums[3] = {{0.0}};
            UNROLLED for (int j = 0; j < 6; j++) UNROLLED for (int k = 0; k < 3; k++) sums[k] +=
                of_W[3 * j + k] * y[j];
            for (int k = 0; k < 3; k++)
                to[k] -= sign * sums[k];
        }
    }
    for (int at = island->end - 1; at >= island->first; at--) {
        if (system->followers[at].coupling >= 0) {
            follower_backward(system, at, x);
            continue;
        }
        const dReal *inverse = system->pivot + 36 * (size_t)at;
        const dReal sign = system->vertex_at[at] < system->node_count ? 1.0 : -1.0;
        dReal *y = x + 6 * (size_t)at, z[6], solution[6] = {0.0};
        memcpy(z, y, sizeof z);
        for (int i = system->column_start[at]; i < system->column_start[at + 1]; i++) {
            const dReal *W = block_at(system, i), *from = x + 6 * (size_t)system->row[i];
            UNROLLED for (int j = 0; j < 6; j++) z[j] -= dot6(W + 6 * j, from);
        }
        UNROLLED for (int j = 0; j < 6; j++) UNROLLED for (int k = 0; k <= j; k++) solution[k] +=
            inverse[6 * j + k] * z[j];
        for (int j = 0; j < 6; j++)
            y[j] = sign * solution[j];
    }
}
