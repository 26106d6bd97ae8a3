/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_progress.h"

#include <stdio.h>

/* Carriage return and "erase to the end of the line" (ECMA-48 EL). */
#define ERASE "\r\033[K"

static void erase(driver_progress_t *p)
{
    if (p->shown) {
        (void)fputs(ERASE, stderr);
        (void)fflush(stderr);
        p->shown = false;
    }
}

static void draw(driver_progress_t *p)
{
    struct timespec now;
    long            seconds;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    seconds = (long)(now.tv_sec - p->started.tv_sec) - (now.tv_nsec < p->started.tv_nsec ? 1 : 0);
    if (p->text[0] != '\0' && seconds >= 1) {
        (void)fprintf(stderr, ERASE "spmm_dist: %s (%ld s)", p->text, seconds);
        (void)fflush(stderr);
        p->shown = true;
    }
}

static void *draw_until_quit(void *self)
{
    driver_progress_t *p = self;

    (void)pthread_mutex_lock(&p->lock);
    while (!p->quit) {
        struct timespec next;

        (void)clock_gettime(CLOCK_REALTIME, &next); /* what condition variables wait by */
        next.tv_nsec += 250000000;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&p->changed, &p->lock, &next);
        if (!p->quit) {
            draw(p);
        }
    }
    erase(p);
    (void)pthread_mutex_unlock(&p->lock);
    return NULL;
}

void driver_progress_open(driver_progress_t *p, bool enabled)
{
    *p = (driver_progress_t){0};
    (void)pthread_mutex_init(&p->lock, NULL);
    (void)pthread_cond_init(&p->changed, NULL);
    /* A machine that cannot start the thread goes without the line. */
    p->running = enabled && pthread_create(&p->thread, NULL, draw_until_quit, p) == 0;
}

static void set_text(driver_progress_t *p, const char *text)
{
    (void)snprintf(p->text, sizeof p->text, "%s", text);
}

void driver_progress_phase(driver_progress_t *p, const char *text)
{
    (void)pthread_mutex_lock(&p->lock);
    set_text(p, text);
    (void)clock_gettime(CLOCK_MONOTONIC, &p->started);
    (void)pthread_mutex_unlock(&p->lock);
}

void driver_progress_log(void *progress, const char *line)
{
    driver_progress_t *p = progress;

    (void)pthread_mutex_lock(&p->lock);
    if (p->text[0] != '\0') {
        set_text(p, line);
    }
    (void)pthread_mutex_unlock(&p->lock);
}

void driver_progress_done(driver_progress_t *p)
{
    (void)pthread_mutex_lock(&p->lock);
    p->text[0] = '\0';
    erase(p);
    (void)pthread_mutex_unlock(&p->lock);
}

void driver_progress_close(driver_progress_t *p)
{
    if (p->running) {
        (void)pthread_mutex_lock(&p->lock);
        p->quit = true;
        (void)pthread_cond_signal(&p->changed);
        (void)pthread_mutex_unlock(&p->lock);
        (void)pthread_join(p->thread, NULL);
    }
    (void)pthread_cond_destroy(&p->changed);
    (void)pthread_mutex_destroy(&p->lock);
}
