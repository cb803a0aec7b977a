/* What contacts leave to the next step of the exact solver: recognised by the same two groups,
 * next to the same point.
 *
 * Contacts come and go, so their numbers change from step to step; what a contact leaves to the
 * next step would else often be taken for that of another one.
 */
#include "memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POINTS_PER_METRE 1e4
#define MAX_COORDINATE 2e9

static int group_number(dBodyID group)
{
    return group ? (int)(size_t)dBodyGetData(group) : 0;
}

static int table_size(int contacts)
{
    int size = 2;
    while (size < 2 * contacts)
        size *= 2;
    return size;
}

/* Make room in the hash table for the pairs of groups of so many contacts. Returns 0 when memory is
 * short. */
static int table_reserve(World *world, int capacity)
{
    int *table = realloc(world->memory_table, (size_t)table_size(capacity) * sizeof *table);
    if (!table)
        return 0;
    world->memory_table = table;
    return 1;
}

static int is_of(const ContactMemory *memory, const int groups[2])
{
    return memory->groups[0] == groups[0] && memory->groups[1] == groups[1];
}

/* Return the entry of a pair of groups, or the empty one where it belongs. */
static int *entry_of(const World *world, const int groups[2])
{
    const unsigned mask = (unsigned)world->memory_table_size - 1;
    unsigned i = (unsigned)groups[0] * 2654435761u + (unsigned)groups[1] * 2246822519u;
    for (i ^= i >> 15;; i++) {
        int *entry = &world->memory_table[i & mask];
        if (*entry < 0 || is_of(&world->memory_before[*entry], groups))
            return entry;
    }
}

/* List the pairs of groups of the contacts of the last step, which follow each other. */
static void table_fill(World *world, int count)
{
    world->memory_table_size = table_size(count);
    memset(world->memory_table, -1, (size_t)world->memory_table_size * sizeof(int));
    for (int i = count - 1; i >= 0; i--)
        *entry_of(world, world->memory_before[i].groups) = i;
    world->memory_count = count;
}

/* Set the groups of a contact, and its point in the frame of the first one. */
static void memory_init(ContactMemory *memory, const dReal p[3], dBodyID a, dBodyID b)
{
    const dBodyID first = a ? a : b;
    const dReal *origin = dBodyGetPosition(first);
    dReal arm[3], local[3];
    for (int i = 0; i < 3; i++)
        arm[i] = (p[i] - origin[i]) * POINTS_PER_METRE;
    unrotate4(local, dBodyGetRotation(first), arm);
    *memory = (ContactMemory){.groups = {group_number(first), a ? group_number(b) : 0}};
    for (int k = 0; k < 3; k++)
        memory->at[k] = fabs(local[k]) < MAX_COORDINATE ? (int)local[k] : 0;
}

static dReal distance_squared(const int a[3], const int b[3])
{
    dReal sum = 0.0;
    for (int k = 0; k < 3; k++) {
        dReal apart = (dReal)a[k] - b[k];
        sum += apart * apart;
    }
    return sum;
}

void hrp_memory_recall(World *world, int number, const dReal p[3], dBodyID a, dBodyID b)
{
    if (number >= world->memory_limit)
        return;
    ContactMemory *now = &world->memory[number];
    const ContactMemory *nearest = NULL;
    dReal least = dInfinity;
    memory_init(now, p, a, b);
    if (number == 0 || !is_of(now - 1, now->groups))
        world->memory_first = *entry_of(world, now->groups);
    for (int i = world->memory_first; i >= 0 && i < world->memory_count; i++) {
        const ContactMemory *before = &world->memory_before[i];
        if (!is_of(before, now->groups))
            break;
        dReal distance = distance_squared(before->at, now->at);
        if (distance < least) {
            least = distance;
            nearest = before;
        }
        if (distance == 0.0)
            break;
    }
    if (nearest) {
        now->jammed = nearest->jammed;
        now->right = nearest->right;
        now->active = nearest->active;
        now->impulse = nearest->impulse;
        now->load = nearest->load;
        memcpy(now->slip, nearest->slip, sizeof now->slip);
    }
}

/* Reserve memory for contacts, zero-initialized. Returns 0 when memory is short. */
static int memory_reserve(World *world, int capacity)
{
    if (capacity <= world->memory_capacity)
        return 1;
    size_t old = (size_t)world->memory_capacity, size = (size_t)capacity;
    ContactMemory *memory = realloc(world->memory, size * sizeof *memory);
    if (memory)
        world->memory = memory;
    ContactMemory *before = realloc(world->memory_before, size * sizeof *before);
    if (before)
        world->memory_before = before;
    if (!memory || !before || !table_reserve(world, capacity))
        return 0;
    memset(memory + old, 0, (size - old) * sizeof *memory);
    world->memory_capacity = capacity;
    return 1;
}

/* Return of how many contacts there is a memory in the step after one with this many. */
static int capacity_after(int touch_count)
{
    return 2 * touch_count + 64;
}

void hrp_memory_append(World *world, const ContactMemory *contact, dBodyID a, dBodyID b)
{
    const int number = world->touch_count;
    if (number >= world->memory_limit) {
        if (!memory_reserve(world, capacity_after(number)))
            return;
        world->memory_limit = capacity_after(number);
    }
    world->memory[number] = *contact;
    world->memory[number].groups[0] = group_number(a ? a : b);
    world->memory[number].groups[1] = a ? group_number(b) : 0;
    world->touch_count++;
}

/* Return of how many contacts of the last step there is a memory. */
static int remembered_count(const World *world)
{
    int count = world->touch_count, limit = world->memory_limit;
    return count < limit ? count : limit;
}

void hrp_memory_forget(World *world, const Body *body)
{
    int first = 1;
    for (int i = 0; world->bodies[i] != body; i++)
        first += world->bodies[i]->groups;
    for (int i = 0; i < 2 * remembered_count(world); i++) {
        int *number = &world->memory[i / 2].groups[i % 2];
        if (*number >= first)
            *number = *number < first + body->groups ? -1 : *number - body->groups;
    }
}

/* Exchange the memories of this step and the last one. */
static void memories_swap(World *world)
{
    ContactMemory *before = world->memory_before;
    world->memory_before = world->memory;
    world->memory = before;
}

void hrp_memory_begin(World *world)
{
    int capacity = capacity_after(world->touch_count), count = remembered_count(world);
    world->touch_count_before = world->touch_count;
    if (!world->system)
        return;
    world->memory_limit = memory_reserve(world, capacity) ? capacity : world->memory_capacity;
    for (int i = count; i < remembered_count(world); i++)
        world->memory[i] = (ContactMemory){0};
    memories_swap(world);
    if (world->memory_limit > 0)
        table_fill(world, count);
}

void hrp_memory_restore(World *world)
{
    world->touch_count = world->touch_count_before;
    if (world->system)
        memories_swap(world);
}

void hrp_memory_reset(World *world)
{
    world->touch_count = 0;
    if (world->memory)
        memset(world->memory, 0, (size_t)world->memory_capacity * sizeof *world->memory);
}

void hrp_memory_free(World *world)
{
    free(world->memory);
    free(world->memory_before);
    free(world->memory_table);
    world->memory = world->memory_before = NULL;
    world->memory_table = NULL;
    world->memory_table_size = 0;
    world->memory_limit = world->memory_capacity = world->touch_count = 0;
}

void hrp_memory_read(const World *world, ContactMemory *out)
{
    int count = remembered_count(world);
    if (world->touch_count > 0)
        memset(out, 0, sizeof *out * (size_t)world->touch_count);
    if (count > 0)
        memcpy(out, world->memory, sizeof *out * (size_t)count);
}

int hrp_memory_write(World *world, const ContactMemory *from, int count)
{
    hrp_memory_reset(world);
    if (!memory_reserve(world, capacity_after(count)))
        return 0;
    world->touch_count = count;
    world->memory_limit = world->system ? capacity_after(count) : 0;
    if (count > 0)
        memcpy(world->memory, from, sizeof *from * (size_t)count);
    return 1;
}
