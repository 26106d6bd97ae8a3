/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700 /* ucontext */
#include "emulated/gpu.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { STACK = 64 * 1024, WARPS = GPU_THREADS / GPU_LANES, ROUND_NS = 10000 };

/* Threads that wait until all of them have come. */
typedef struct {
    int      expected, arrived;
    unsigned turn; /* how often they have */
    bool     any[2], all[2];
    uint64_t value[2][GPU_LANES];
} meeting_t;

typedef struct {
    jmp_buf          here;
    bool             started, ended;
    const meeting_t *waits; /* NULL: it can go on */
    unsigned         turn;  /* of waits, that it waits for the end of */
} thread_t;

typedef struct {
    gpu_kernel_t kernel;
    const void  *args;
    int          b, n_left; /* threads */
    int          sleeps;    /* rounds before it comes to the GPU */
    thread_t     thread[GPU_THREADS];
    meeting_t    all, warp[WARPS];
    char        *shared; /* its values of all variables of the section */
} block_t;

typedef struct work {
    struct work *next;
    void        *to;
    const void  *from; /* copy; NULL: fill */
    size_t       bytes;
    int          byte, rounds, n_blocks;
    gpu_kernel_t kernel;
    char         args[]; /* of kernel */
} work_t;

typedef struct {
    work_t *first, **end;
    int     sleeps, n_running; /* rounds; blocks */
} queue_t;

/* The variables that kernels declare as shared, where the linker has put them. */
extern char __start_emulated_shared[], __stop_emulated_shared[];

static queue_t    queue[GPU_QUEUES];
static block_t    block[GPU_BLOCKS];
static int        owner[GPU_BLOCKS]; /* queue; -1: free */
static work_t    *running[GPU_QUEUES];
static char      *stacks;
static jmp_buf    scheduler;
static ucontext_t fresh;
static block_t   *at_block;
static int        at_thread;
static uint64_t   rounds, lot = 88172645463325252u;

static uint64_t draw(void)
{
    lot ^= lot << 13;
    lot ^= lot >> 7;
    lot ^= lot << 17;
    return lot >> 11;
}

static size_t shared_bytes(void)
{
    return (size_t)(__stop_emulated_shared - __start_emulated_shared);
}

void gpu_open(void)
{
    stacks = malloc((size_t)GPU_BLOCKS * GPU_THREADS * STACK); /* pages come with their first use */
    if (stacks == NULL || getcontext(&fresh) != 0) {
        abort();
    }
    for (int k = 0; k < GPU_BLOCKS; k++) {
        owner[k]        = -1;
        block[k].shared = calloc(1, shared_bytes() + 1);
        if (block[k].shared == NULL) {
            abort();
        }
    }
    for (int q = 0; q < GPU_QUEUES; q++) {
        queue[q].end = &queue[q].first;
    }
}

void gpu_close(void)
{
    for (int k = 0; k < GPU_BLOCKS; k++) {
        free(block[k].shared);
    }
    free(stacks);
}

static work_t *enqueue(int q, size_t more)
{
    work_t *work = calloc(1, sizeof *work + more);

    if (work == NULL) {
        abort();
    }
    *queue[q].end = work;
    queue[q].end  = &work->next;
    return work;
}

void gpu_copy(int q, void *to, const void *from, size_t bytes)
{
    work_t *work = enqueue(q, 0);

    work->to = to, work->from = from, work->bytes = bytes;
}

void gpu_fill(int q, void *to, int byte, size_t bytes)
{
    work_t *work = enqueue(q, 0);

    work->to = to, work->byte = byte, work->bytes = bytes;
}

void gpu_delay(int q, int n)
{
    enqueue(q, 0)->rounds = n;
}

void gpu_launch(int q, gpu_kernel_t kernel, const void *args, size_t bytes, int n_blocks)
{
    work_t *work = enqueue(q, bytes);

    memcpy(work->args, args, bytes);
    work->kernel = kernel, work->n_blocks = n_blocks;
}

int gpu_thread(void)
{
    return at_thread;
}

uint64_t gpu_time_ns(void)
{
    return (rounds + 1) * ROUND_NS;
}

void gpu_give_way(void)
{
    if (_setjmp(at_block->thread[at_thread].here) == 0) {
        _longjmp(scheduler, 1);
    }
}

void gpu_perhaps_give_way(void)
{
    if (draw() % 4 == 0) {
        gpu_give_way();
    }
}

static void end_turn(meeting_t *m)
{
    const unsigned next = (m->turn + 1) % 2;

    m->turn++;
    m->arrived   = 0;
    m->any[next] = false;
    m->all[next] = true;
}

/* The turn that it was. */
static unsigned meet(meeting_t *m)
{
    thread_t      *thread = &at_block->thread[at_thread];
    const unsigned turn   = m->turn;

    if (++m->arrived == m->expected) {
        end_turn(m);
    } else {
        thread->waits = m;
        thread->turn  = turn;
        gpu_give_way();
        thread->waits = NULL;
    }
    return turn % 2;
}

void gpu_barrier(bool p, bool *any, bool *all)
{
    meeting_t *m    = &at_block->all;
    unsigned   turn = m->turn % 2;

    m->any[turn] = m->any[turn] || p;
    m->all[turn] = m->all[turn] && p;
    turn         = meet(m);
    *any         = m->any[turn];
    *all         = m->all[turn];
}

const uint64_t *gpu_warp(uint64_t value)
{
    meeting_t *m = &at_block->warp[at_thread / GPU_LANES];

    m->value[m->turn % 2][at_thread % GPU_LANES] = value;
    return m->value[meet(m)];
}

/* Threads that have ended are waited for no longer. */
static void leave(meeting_t *m)
{
    m->expected--;
    if (m->expected > 0 && m->arrived == m->expected) {
        end_turn(m);
    }
}

static void start(void)
{
    thread_t *thread = &at_block->thread[at_thread];

    at_block->kernel(at_block->args, at_block->b);
    thread->ended = true;
    at_block->n_left--;
    leave(&at_block->all);
    leave(&at_block->warp[at_thread / GPU_LANES]);
    _longjmp(scheduler, 1);
}

static void resume(block_t *of, int t)
{
    thread_t *thread = &of->thread[t];

    at_block  = of;
    at_thread = t;
    if (_setjmp(scheduler) != 0) {
        return;
    }
    if (thread->started) {
        _longjmp(thread->here, 1);
    }
    static ucontext_t context;

    thread->started          = true;
    context                  = fresh;
    context.uc_stack.ss_sp   = stacks + ((size_t)(of - block) * GPU_THREADS + (size_t)t) * STACK;
    context.uc_stack.ss_size = STACK;
    context.uc_link          = NULL;
    makecontext(&context, start, 0);
    (void)setcontext(&context);
    abort();
}

static void set_up(block_t *of, const work_t *work, int b)
{
    char *shared = of->shared;

    memset(of, 0, sizeof *of);
    of->shared = shared;
    memset(shared, 0x5a, shared_bytes());
    of->kernel = work->kernel;
    of->args   = work->args;
    of->b      = b;
    of->n_left = GPU_THREADS;
    /* The first one may come last. */
    of->sleeps = draw() % (b == 0 ? 2 : 4) == 0 ? (int)(draw() % (draw() % 4 == 0 ? 400 : 32)) : 0;
    of->all    = (meeting_t){.expected = GPU_THREADS, .all = {true, true}};
    for (int w = 0; w < WARPS; w++) {
        of->warp[w] = (meeting_t){.expected = GPU_LANES, .all = {true, true}};
    }
}

static void begin_kernel(int q, const work_t *work)
{
    for (int b = 0; b < work->n_blocks; b++) {
        int k = 0;

        while (k < GPU_BLOCKS && owner[k] >= 0) {
            k++;
        }
        if (k == GPU_BLOCKS) {
            abort();
        }
        owner[k] = q;
        set_up(&block[k], work, b);
    }
    queue[q].n_running = work->n_blocks;
}

/* Do what a queue can do now; false: it has nothing left. */
static bool advance(int q)
{
    queue_t *of = &queue[q];

    while (of->n_running == 0 && of->sleeps == 0 && of->first != NULL) {
        work_t *work = of->first;

        free(running[q]);
        running[q] = work;
        of->first  = work->next;
        of->end    = of->first == NULL ? &of->first : of->end;
        of->sleeps = work->rounds;
        if (work->kernel != NULL) {
            begin_kernel(q, work);
        } else if (work->from != NULL) {
            memcpy(work->to, work->from, work->bytes);
        } else if (work->to != NULL) {
            memset(work->to, work->byte, work->bytes);
        }
    }
    of->sleeps -= of->sleeps > 0;
    return of->n_running > 0 || of->sleeps > 0 || of->first != NULL;
}

static void run_block(int k)
{
    block_t  *of    = &block[k];
    const int first = (int)(draw() % GPU_THREADS);

    memcpy(__start_emulated_shared, of->shared, shared_bytes());
    for (int i = 0; i < GPU_THREADS; i++) {
        const int       t      = (first + i) % GPU_THREADS;
        const thread_t *thread = &of->thread[t];

        if (!thread->ended && (thread->waits == NULL || thread->waits->turn != thread->turn)) {
            resume(of, t);
        }
    }
    memcpy(of->shared, __start_emulated_shared, shared_bytes());
    if (of->n_left == 0) {
        queue[owner[k]].n_running--;
        owner[k] = -1;
    }
}

void gpu_wait(void)
{
    bool some = true;

    while (some) {
        const int first = (int)(draw() % GPU_BLOCKS);

        some = false;
        for (int q = 0; q < GPU_QUEUES; q++) {
            some = advance(q) || some;
        }
        for (int k = 0; k < GPU_BLOCKS; k++) {
            const int at = (first + k) % GPU_BLOCKS;

            if (owner[at] >= 0 && block[at].sleeps > 0) {
                block[at].sleeps--;
            } else if (owner[at] >= 0 && draw() % 4 != 0) {
                run_block(at);
            }
        }
        rounds++;
    }
    for (int q = 0; q < GPU_QUEUES; q++) {
        free(running[q]);
        running[q] = NULL;
    }
}
