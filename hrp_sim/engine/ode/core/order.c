/* Islands, elimination order and block structure of the exact solver's matrix.
 *
 * They depend only on which groups are connected, and so are computed again only when a pair of
 * groups touches or parts. Positions are places in the elimination order. Each group is eliminated
 * when at most one joint of its tree is left, by which it follows the other group of that joint;
 * the one with the fewest neighbors first. So trees need no fill-in. Joints that close loops come
 * after both of their groups. A gear comes right after the group that its follower moves: nothing
 * else constrains that one's joint yet. The group that its leader moves waits for those of all
 * followers, so that gears of one leader cause no fill-in with each other.
 *
 * Leaves first is the order of D. Baraff, Linear-time dynamics using Lagrange multipliers (SIGGRAPH
 * 1996), and of R. Featherstone, Efficient factorization of the joint-space inertia matrix for
 * branched kinematic trees (IJRR 24, 2005); among what is left it is that of minimum degree.
 */
#include "order.h"
#include "guard.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WORD 64
#define LARGE 64 /* vertices of a dense island that gets all iterations of the solver */

typedef uint64_t Word;

/* Lists of integers: those of i are items[start[i]] to items[start[i + 1]]. */
typedef struct {
    int *start, *items;
} Lists;

/* Update the list of pairs of groups that touch. Returns -1 when memory is short, else whether it
 * has changed. Contacts of a pair follow each other. */
static int pairs_update(System *system)
{
    int count = 0, changed = system->pair_count < 0;
    for (int t = 0; t < system->touch_count; t++) {
        const Touch *touch = &system->touches[t];
        if (touch->second == WORLD_NODE)
            continue;
        int same = count > 0 && system->pairs[count - 1][0] == touch->first &&
                   system->pairs[count - 1][1] == touch->second;
        if (same)
            continue;
        if (!hrp_array_reserve(&system->pairs, &system->pair_capacity, count + 1,
                               sizeof *system->pairs))
            return -1;
        int *pair = system->pairs[count];
        changed |=
            count >= system->pair_count || pair[0] != touch->first || pair[1] != touch->second;
        pair[0] = touch->first;
        pair[1] = touch->second;
        count++;
    }
    changed |= count != system->pair_count;
    system->pair_count = count;
    return changed;
}

static const Coupling *gear_coupling(const System *system, int gear)
{
    return &system->couplings[system->coupling_count - system->gear_count + gear];
}

/* Return the node that the leader of a gear moves. */
static int leader_node(const System *system, const Coupling *gear)
{
    return system->couplings[gear->gear->couplings[1]].first;
}

/* Return the representative of a node's island. */
static int root_of(int *parent, int node)
{
    while (parent[node] != node)
        node = parent[node] = parent[parent[node]];
    return node;
}

/* Join the islands of two nodes; the first node of an island represents it. */
static void join(int *parent, int a, int b)
{
    a = root_of(parent, a);
    b = root_of(parent, b);
    parent[a > b ? a : b] = a > b ? b : a;
}

/* Number the islands in the order of their first nodes. */
static void islands_number(System *system, int *parent)
{
    for (int n = 0; n < system->node_count; n++)
        parent[n] = n;
    for (int c = 0; c < system->coupling_count; c++)
        if (system->couplings[c].second != WORLD_NODE)
            join(parent, system->couplings[c].first, system->couplings[c].second);
    for (int g = 0; g < system->gear_count; g++)
        for (int i = 0; i < system->gears[g].count; i++)
            join(parent, gear_coupling(system, g)->first, system->gears[g].nodes[i]);
    for (int i = 0; i < system->pair_count; i++)
        join(parent, system->pairs[i][0], system->pairs[i][1]);
    system->island_count = 0;
    for (int n = 0; n < system->node_count; n++) {
        int root = root_of(parent, n);
        system->island_of[n] = root == n ? system->island_count++ : system->island_of[root];
    }
}

/* Append an edge to both of its vertices: count it first, and enter it in a second pass. */
static void edge_add(Lists *edges, int a, int b, int enters)
{
    if (enters) {
        edges->items[--edges->start[a]] = b;
        edges->items[--edges->start[b]] = a;
    } else {
        edges->start[a]++;
        edges->start[b]++;
    }
}

static void edges_pass(const System *system, Lists *edges, int enters)
{
    for (int c = system->coupling_count - 1; c >= 0; c--) {
        const Coupling *coupling = &system->couplings[c];
        edge_add(edges, system->node_count + c, coupling->first, enters);
        if (coupling->second != WORLD_NODE)
            edge_add(edges, system->node_count + c, coupling->second, enters);
        for (int i = 0; coupling->gear && i < coupling->gear->count; i++)
            edge_add(edges, system->node_count + c, coupling->gear->nodes[i], enters);
    }
    for (int i = system->pair_count - 1; i >= 0; i--)
        edge_add(edges, system->pairs[i][0], system->pairs[i][1], enters);
}

/* List the neighbors of each vertex of the matrix. */
static void edges_list(const System *system, Lists *edges, int vertices)
{
    memset(edges->start, 0, sizeof(int) * (size_t)(vertices + 1));
    edges_pass(system, edges, 0);
    for (int i = 1; i <= vertices; i++)
        edges->start[i] += edges->start[i - 1];
    edges_pass(system, edges, 1); /* moves each start from its end to its beginning */
}

/* The elimination of one island: its nodes are numbered from 0 on. */
typedef struct {
    System *system;
    const Lists *edges;
    const int *nodes;  /* of the island */
    int count;
    int *number;       /* of a node within the island */
    int *degree;       /* neighbors left; -1 once eliminated */
    int *tree_joints;  /* left */
    int *followers;    /* left, of gears whose leader moves it */
    int *winner;       /* tournament tree of the lowest rank; its leaves are from count on */
    char *is_emitted;  /* of couplings */
    Word *adjacent;    /* a row of bits for each node */
    size_t words;
    int at;            /* next position */
} Elimination;

static Word *bits_of(const Elimination *work, int number)
{
    return work->adjacent + (size_t)number * work->words;
}

static int other_end(const Coupling *coupling, int node)
{
    return coupling->first == node ? coupling->second : coupling->first;
}

static void connect(const Elimination *work, int a, int b)
{
    bits_of(work, a)[b / WORD] |= (Word)1 << b % WORD;
    bits_of(work, b)[a / WORD] |= (Word)1 << a % WORD;
}

/* Connect a node with the others of a gear. */
static void connect_gear(const Elimination *work, int i, const Coupling *gear)
{
    const int node = work->nodes[i];
    if (gear->first != node)
        connect(work, i, work->number[gear->first]);
    for (int k = 0; k < gear->gear->count; k++)
        if (gear->gear->nodes[k] != node)
            connect(work, i, work->number[gear->gear->nodes[k]]);
    work->followers[i] += leader_node(work->system, gear) == node && gear->first != node;
}

static int count_bits(const Elimination *work, int number)
{
    int count = 0;
    const Word *bits = bits_of(work, number);
    for (size_t i = 0; i < work->words; i++)
        count += __builtin_popcountll(bits[i]);
    return count;
}

/* Set up the graph of the island's nodes. */
static void elimination_begin(Elimination *work)
{
    const System *system = work->system;
    memset(work->adjacent, 0, sizeof(Word) * work->words * (size_t)work->count);
    for (int i = 0; i < work->count; i++) {
        int node = work->nodes[i];
        work->tree_joints[i] = work->followers[i] = 0;
        for (int e = work->edges->start[node]; e < work->edges->start[node + 1]; e++) {
            int vertex = work->edges->items[e];
            if (vertex >= system->node_count) {
                const Coupling *coupling = &system->couplings[vertex - system->node_count];
                if (coupling->gear) {
                    connect_gear(work, i, coupling);
                    continue;
                }
                work->tree_joints[i] += coupling->is_tree;
                vertex = other_end(coupling, node);
            }
            if (vertex != WORLD_NODE)
                connect(work, i, work->number[vertex]);
        }
    }
    for (int i = 0; i < work->count; i++)
        work->degree[i] = count_bits(work, i);
}

static void emit(Elimination *work, int vertex)
{
    work->system->followers[work->at] = (Follower){.coupling = -1, .leader = -1, .block = -1};
    work->system->vertex_at[work->at] = vertex;
    work->system->position_of[vertex] = work->at++;
}

/* Emit a gear after the node that its follower moves. */
static void emit_gear(Elimination *work, int c, int node)
{
    const System *system = work->system;
    const int leader = leader_node(system, &system->couplings[c]);
    if (system->couplings[c].first != node)
        return;
    work->is_emitted[c] = 1;
    emit(work, system->node_count + c);
    if (system->couplings[c].gear->gear.ratio != 0.0)
        work->followers[work->number[leader]]--;
}

/* Let the node that was emitted last follow the other one of a joint of its tree. */
static void follow(Elimination *work, int c, int node)
{
    System *system = work->system;
    const int other = other_end(&system->couplings[c], node);
    system->followers[work->at - 1].coupling = c;
    work->is_emitted[c] = 1;
    if (other != WORLD_NODE)
        work->tree_joints[work->number[other]]--;
}

/* Emit a node, and the couplings that may follow it. */
static void emit_node(Elimination *work, int number)
{
    const System *system = work->system;
    int node = work->nodes[number];
    emit(work, node);
    work->degree[number] = -1;
    for (int pass = 0; pass < 2; pass++) /* joints of the tree come first */
        for (int e = work->edges->start[node]; e < work->edges->start[node + 1]; e++) {
            int c = work->edges->items[e] - system->node_count;
            if (c < 0 || work->is_emitted[c] || system->couplings[c].is_tree != !pass)
                continue;
            if (system->couplings[c].is_tree) {
                follow(work, c, node);
                continue;
            }
            if (system->couplings[c].gear) {
                emit_gear(work, c, node);
                continue;
            }
            int other = other_end(&system->couplings[c], node);
            if (other != WORLD_NODE && work->degree[work->number[other]] >= 0)
                continue;
            work->is_emitted[c] = 1;
            emit(work, work->edges->items[e]);
        }
}

/* Return the rank of a node; the lowest is eliminated next. A tree always has a node with at most
 * one joint left, so that leaders of gears wait for their followers only if these do not carry
 * them. */
static int rank_of(const Elimination *work, int number)
{
    if (work->degree[number] < 0)
        return INT_MAX;
    return work->degree[number] + (work->tree_joints[number] > 1 ? 2 * work->count : 0) +
           (work->followers[number] > 0 ? work->count : 0);
}

/* Compare the winners of both children of a place in the tournament tree. */
static void winner_update(Elimination *work, int place)
{
    int a = work->winner[2 * place], b = work->winner[2 * place + 1];
    int rank_a = rank_of(work, a), rank_b = rank_of(work, b);
    work->winner[place] = rank_a < rank_b || (rank_a == rank_b && a < b) ? a : b;
}

/* Update the tournament tree after a node's rank has changed. */
static void rank_update(Elimination *work, int number)
{
    for (int place = (work->count + number) / 2; place > 0; place /= 2)
        winner_update(work, place);
}

/* Eliminate a node from the graph: its neighbors become neighbors of each other. */
static void eliminate(Elimination *work, int number)
{
    const Word *bits = bits_of(work, number);
    emit_node(work, number);
    rank_update(work, number);
    for (size_t i = 0; i < work->words; i++)
        for (Word left = bits[i]; left; left &= left - 1) {
            int neighbor = (int)i * WORD + __builtin_ctzll(left);
            Word *of_neighbor = bits_of(work, neighbor);
            for (size_t k = 0; k < work->words; k++)
                of_neighbor[k] |= bits[k];
            of_neighbor[neighbor / WORD] &= ~((Word)1 << neighbor % WORD);
            of_neighbor[number / WORD] &= ~((Word)1 << number % WORD);
            work->degree[neighbor] = count_bits(work, neighbor);
            rank_update(work, neighbor);
        }
}

/* Write the elimination order of an island. Returns 0 if the step is to be given up. */
static int island_order(World *world, Elimination *work)
{
    elimination_begin(work);
    for (int i = 0; i < work->count; i++)
        work->winner[work->count + i] = i;
    for (int place = work->count - 1; place > 0; place--)
        winner_update(work, place);
    for (int done = 0; done < work->count; done++) {
        if (done % LARGE == LARGE - 1 && hrp_is_interrupted(world))
            return 0;
        eliminate(work, work->winner[1]);
    }
    return 1;
}

/* Order all islands. Returns 0 when memory is short or the step is to be given up. */
static int islands_order(World *world, const Lists *edges, int *ints)
{
    System *system = world->system;
    int nodes = system->node_count, largest = 0, first = 0;
    int *listed = ints, *number = ints + nodes, *degree = ints + 2 * nodes,
        *tree_joints = ints + 3 * nodes, *followers = ints + 4 * nodes, *winner = ints + 5 * nodes,
        *start = ints + 7 * nodes; /* of islands, and one more */
    memset(start, 0, sizeof(int) * (size_t)(system->island_count + 2));
    for (int n = 0; n < nodes; n++)
        start[system->island_of[n] + 2]++;
    for (int i = 0; i < system->island_count; i++) {
        largest = start[i + 2] > largest ? start[i + 2] : largest;
        start[i + 2] += start[i + 1];
    }
    for (int n = 0; n < nodes; n++)
        listed[start[system->island_of[n] + 1]++] = n;
    size_t words = ((size_t)largest + WORD - 1) / WORD;
    Word *adjacent = malloc(sizeof(Word) * (words * (size_t)largest + 1));
    char *is_emitted = calloc((size_t)system->coupling_count + 1, 1);
    int done = adjacent && is_emitted;
    for (int i = 0; done && i < system->island_count; i++) {
        int count = start[i + 1] - first;
        for (int k = 0; k < count; k++)
            number[listed[first + k]] = k;
        Elimination work = {system, edges,      listed + first, count,
                            number, degree,     tree_joints,    followers,
                            winner, is_emitted, adjacent,       ((size_t)count + WORD - 1) / WORD,
                            0};
        work.at = i ? system->islands[i - 1].end : 0;
        system->islands[i].first = work.at;
        done = island_order(world, &work);
        system->islands[i].end = work.at;
        first = start[i + 1];
    }
    free(adjacent);
    free(is_emitted);
    return done;
}

static int compare_ints(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Return the position of a neighbor of a vertex, -1 if it has none; through a joint of a tree it is
 * that of its other node. */
static int position_behind(const System *system, int vertex, int neighbor)
{
    const int c = neighbor - system->node_count;
    if (c >= 0 && system->couplings[c].is_tree)
        neighbor = other_end(&system->couplings[c], vertex);
    return neighbor == WORLD_NODE ? -1 : system->position_of[neighbor];
}

/* Compute the column of each position: where the factor has blocks below the diagonal. These are
 * the matrix's own and those of the columns whose first block lies in this row. Returns 0 when
 * memory is short or there are too many blocks. */
static int columns_build(System *system, const Lists *edges, int positions, int *ints)
{
    int *mark = ints, *first_child = ints + positions, *next_child = ints + 2 * positions;
    int count = 0;
    for (int i = 0; i < positions; i++)
        mark[i] = first_child[i] = -1;
    for (int at = 0; at < positions; at++) {
        int vertex = system->vertex_at[at];
        system->column_start[at] = count;
        mark[at] = at;
        int longest = edges->start[vertex + 1] - edges->start[vertex];
        for (int child = first_child[at]; child >= 0; child = next_child[child])
            longest += system->column_start[child + 1] - system->column_start[child];
        if (count + longest > MAX_BLOCKS) {
            system->crowded = vertex < system->node_count
                                  ? vertex
                                  : system->couplings[vertex - system->node_count].first;
            return 0;
        }
        if (!hrp_array_reserve(&system->row, &system->row_capacity, count + longest, sizeof(int)))
            return 0;
        for (int e = edges->start[vertex]; e < edges->start[vertex + 1]; e++) {
            int row = position_behind(system, vertex, edges->items[e]);
            if (row > at && mark[row] != at) {
                mark[row] = at;
                system->row[count++] = row;
            }
        }
        for (int child = first_child[at]; child >= 0; child = next_child[child])
            for (int b = system->column_start[child]; b < system->column_start[child + 1]; b++)
                if (mark[system->row[b]] != at) {
                    mark[system->row[b]] = at;
                    system->row[count++] = system->row[b];
                }
        int *column = system->row + system->column_start[at];
        int length = count - system->column_start[at];
        qsort(column, (size_t)length, sizeof(int), compare_ints);
        if (length > 0) {
            next_child[at] = first_child[column[0]];
            first_child[column[0]] = at;
        }
    }
    system->column_start[positions] = count;
    return 1;
}

/* List the blocks of each row: those that the elimination of its column reads. Returns 0 when
 * memory is short. */
static int rows_build(System *system, int positions)
{
    const int count = system->column_start[positions];
    if (!hrp_array_reserve(&system->left, &system->left_capacity, count, sizeof(RowBlock)))
        return 0;
    memset(system->left_start, 0, sizeof(int) * (size_t)(positions + 1));
    for (int i = 0; i < count; i++)
        system->left_start[system->row[i]]++;
    for (int at = 1; at <= positions; at++)
        system->left_start[at] += system->left_start[at - 1];
    for (int at = positions - 1; at >= 0; at--) /* moves each start from its end to its beginning */
        for (int i = system->column_start[at]; i < system->column_start[at + 1]; i++)
            system->left[--system->left_start[system->row[i]]] = (RowBlock){at, i};
    return 1;
}

/* Return the index of the block of a column in a row, -1 if there is none. */
static int block_in_column(const System *system, int column, int row)
{
    for (int i = system->column_start[column]; i < system->column_start[column + 1]; i++)
        if (system->row[i] == row)
            return i;
    return -1;
}

/* Return the index of the block of two vertices. */
static int block_find(const System *system, int a, int b)
{
    const int at_a = system->position_of[a], at_b = system->position_of[b];
    return at_a < at_b ? block_in_column(system, at_a, at_b) : block_in_column(system, at_b, at_a);
}

/* Whether the block of a follower and its leader is not zero: their groups touch, or a column to
 * the left acts on both. */
static int is_linked(const System *system, const Lists *edges, int at, const Follower *follower)
{
    const int vertex = system->vertex_at[at];
    for (int e = edges->start[vertex]; e < edges->start[vertex + 1]; e++)
        if (edges->items[e] < system->node_count &&
            system->position_of[edges->items[e]] == follower->leader)
            return 1;
    for (int l = system->left_start[at]; l < system->left_start[at + 1]; l++)
        if (block_in_column(system, system->left[l].column, follower->leader) >= 0)
            return 1;
    return 0;
}

/* Describe how nodes follow others. */
static void followers_locate(System *system, const Lists *edges, int positions)
{
    for (int at = 0; at < positions; at++) {
        Follower *follower = &system->followers[at];
        if (follower->coupling < 0)
            continue;
        Coupling *joint = &system->couplings[follower->coupling];
        const int node = system->vertex_at[at], other = other_end(joint, node);
        joint->follower = at;
        follower->side = node != joint->first;
        follower->leader = other == WORLD_NODE ? -1 : system->position_of[other];
        follower->block = follower->leader < 0 ? -1 : block_in_column(system, at, follower->leader);
        follower->is_linked = follower->leader >= 0 && is_linked(system, edges, at, follower);
    }
}

static int structure_reserve(System *system, int vertices)
{
    int capacity = system->vertex_capacity;
    if (vertices + 1 <= capacity)
        return 1;
    capacity = vertices + vertices / 2 + 16;
    struct {
        void *array;
        size_t size;
    } arrays[] = {
        {&system->vertex_at, sizeof(int)},      {&system->position_of, sizeof(int)},
        {&system->column_start, sizeof(int)},   {&system->island_of, sizeof(int)},
        {&system->left_start, sizeof(int)},     {&system->is_changed, sizeof(char)},
        {&system->followers, sizeof(Follower)},
        {&system->coupling_order, sizeof(int)}, {&system->islands, sizeof(Island)},
        {&system->pivot, 36 * sizeof(dReal)},   {&system->x, 6 * sizeof(dReal)},
        {&system->dv, 6 * sizeof(dReal)},       {&system->dv_before, 6 * sizeof(dReal)},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        int own = system->vertex_capacity;
        if (!hrp_array_reserve(arrays[i].array, &own, capacity, arrays[i].size))
            return 0;
    }
    system->vertex_capacity = capacity;
    return 1;
}

/* Compare the cost to factor each island with that of a dense one: many bodies in one place take
 * seconds, a chain of thousands of links takes little. MAX_BLOCKS limits the excess, so that there
 * are iterations for every island. */
static void islands_measure(System *system)
{
    for (int i = 0; i < system->island_count; i++) {
        Island *island = &system->islands[i];
        double products = 0.0; /* of blocks; n^3 / 6 of a dense matrix */
        for (int at = island->first; at < island->end; at++) {
            double length = system->column_start[at + 1] - system->column_start[at];
            products += length * length / 2.0;
        }
        island->excess = 1 + (int)(cbrt(6.0 * products) / LARGE);
    }
}

/* Find the blocks of a coupling. */
static void blocks_locate(const System *system, int c)
{
    Coupling *coupling = &system->couplings[c];
    const int vertex = system->node_count + c;
    coupling->block_first = block_find(system, vertex, coupling->first);
    if (coupling->second != WORLD_NODE)
        coupling->block_second = block_find(system, vertex, coupling->second);
    for (int k = 0; coupling->gear && k < coupling->gear->count; k++)
        coupling->gear->blocks[k] = block_find(system, vertex, coupling->gear->nodes[k]);
}

/* List the couplings of each island in the order of elimination. */
static void couplings_locate(System *system)
{
    int count = 0;
    for (int i = 0; i < system->island_count; i++) {
        Island *island = &system->islands[i];
        island->couplings = count;
        for (int at = island->first; at < island->end; at++) {
            const int vertex = system->vertex_at[at], c = system->followers[at].coupling;
            if (vertex >= system->node_count)
                blocks_locate(system, vertex - system->node_count);
            else if (c < 0)
                continue;
            system->coupling_order[count++] = c >= 0 ? c : vertex - system->node_count;
        }
        island->couplings_end = count;
    }
}

/* Compute the structure for the current pairs. Returns 0 when memory is short or the step is to be
 * given up. */
static int structure_build(World *world)
{
    System *system = world->system;
    int vertices = system->node_count + system->coupling_count;
    int edge_count = 2 * (2 * (system->coupling_count + system->gear_count) + system->pair_count);
    if (!structure_reserve(system, vertices))
        return 0;
    int *ints = malloc(sizeof(int) * (size_t)(9 * vertices + edge_count + 8));
    if (!ints)
        return 0;
    Lists edges = {ints, ints + vertices + 1};
    int *rest = edges.items + edge_count + 1;
    islands_number(system, rest);
    edges_list(system, &edges, vertices);
    int done = islands_order(world, &edges, rest);
    const int islands = system->island_count;
    const int positions = islands ? system->islands[islands - 1].end : 0;
    done = done && columns_build(system, &edges, positions, rest) && rows_build(system, positions);
    if (done)
        followers_locate(system, &edges, positions);
    free(ints);
    if (!done)
        return 0;
    islands_measure(system);
    couplings_locate(system);
    const int blocks = system->column_start[positions];
    return hrp_array_reserve(&system->block, &system->block_capacity, blocks, 36 * sizeof(dReal)) &&
           hrp_array_reserve(&system->block_gain, &system->block_gain_capacity, blocks,
                             6 * sizeof(dReal));
}

/* Sort the contacts by island, and find their blocks. Returns 0 when memory is short. */
static int touches_locate(System *system)
{
    if (!hrp_array_reserve(&system->touch_order, &system->touch_order_capacity, system->touch_count,
                           sizeof(int)) ||
        !hrp_array_reserve(&system->bounded, &system->bounded_capacity,
                           system->touch_count + MAX_AXIS_ROWS * system->coupling_count,
                           sizeof(BoundedRow *)) ||
        !hrp_array_reserve(&system->gripping, &system->gripping_capacity, system->friction_count,
                           sizeof(Friction *)))
        return 0;
    for (int i = 0; i < system->island_count; i++)
        system->islands[i].touches_end = 0;
    for (int t = 0; t < system->touch_count; t++)
        system->islands[system->island_of[system->touches[t].first]].touches_end++;
    for (int i = 0, first = 0; i < system->island_count; i++) {
        Island *island = &system->islands[i];
        island->touches = first;
        first += island->touches_end;
        island->touches_end = island->touches;
    }
    const Touch *last = NULL;
    for (int t = 0; t < system->touch_count; t++) {
        Touch *touch = &system->touches[t];
        system->touch_order[system->islands[system->island_of[touch->first]].touches_end++] = t;
        if (touch->second == WORLD_NODE)
            continue;
        int same = last && last->first == touch->first && last->second == touch->second;
        touch->block = same ? last->block : block_find(system, touch->first, touch->second);
        last = touch;
    }
    return 1;
}

int hrp_structure_update(World *world)
{
    System *system = world->system;
    int changed = pairs_update(system);
    if (changed && (changed < 0 || !structure_build(world))) {
        system->pair_count = -1;
        return 0;
    }
    return touches_locate(system);
}
