/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The symbols of iproute2's tc for plugins, for which it installs no header.
 *
 * Only those that are the same from 6.1 (Debian 12) to 6.15 (Debian 13) are
 * here: a symbol has no version, so that the linker would not notice that
 * functions such as print_tm() and print_action_control() have lost an argument
 * between these two. Look at both before adding anything.
 *
 * With a tc that lacks one of these symbols, or has another struct action_util,
 * all is as without the plugin: the Makefile has symbols bound when the plugin
 * is loaded, and m_pepsplit.c checks a struct of tc's own.
 */
#ifndef _PEP_TC_IPROUTE2_H
#define _PEP_TC_IPROUTE2_H

#include <stdbool.h>
#include <stdio.h>
#include <stdnoreturn.h>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/types.h>

/* The room in a request, bytes. */
#define TC_REQUEST_MAX	16384

/**
 * struct action_util - a kind of action in tc
 * @next: the next kind, set by tc
 * @id: name of the kind
 * @parse_aopt: read an action from the command line: @argv begins with the name
 *	of the kind and is moved on to the first unknown word. The options
 *	become an attribute of type @code of a request. Returns 0, or -1 after
 *	a message.
 * @print_aopt: print the kind and its options from the kernel's attributes.
 *	Returns 0, or -1 after a message.
 * @print_xstats: print statistics of its own; not called for actions
 * @room: for members of later versions, which find NULL
 */
struct action_util {
	struct action_util *next;
	char id[16];
	int (*parse_aopt)(struct action_util *util, int *argc, char ***argv,
			  int code, struct nlmsghdr *request);
	int (*print_aopt)(struct action_util *util, FILE *file,
			  struct rtattr *options);
	int (*print_xstats)(struct action_util *util, FILE *file,
			    struct rtattr *stats);
	void *room[8];
};

/*
 * The kind "gact", which tc also uses for unknown kinds. It has no
 * print_xstats, and in tc no room.
 */
extern struct action_util gact_action_util;

/* Not 0 with option -s. */
extern int show_stats;

/**
 * enum output_type - where something is printed
 * @PRINT_FP: in text only
 * @PRINT_JSON: in JSON only
 * @PRINT_ANY: in either
 */
enum output_type {
	PRINT_FP = 1,
	PRINT_JSON = 2,
	PRINT_ANY = 4,
};

/**
 * enum color_attr - colours of the output
 * @COLOR_NONE: none
 */
enum color_attr {
	COLOR_NONE = 6,
};

void open_json_object(const char *key);
void close_json_object(void);
int print_color_string(enum output_type type, enum color_attr color,
		       const char *key, const char *format, const char *value);
int print_color_uint(enum output_type type, enum color_attr color,
		     const char *key, const char *format, unsigned int value);
void print_nl(void);

/* These print an error and end tc. */
noreturn void duparg(const char *key, const char *word);
noreturn void incomplete_command(void);
noreturn void invarg(const char *message, const char *word);
noreturn void missarg(const char *key);

int action_a2n(char *word, int *control, bool numbers);
int get_u32(__u32 *value, const char *word, int base);
int parse_action_control(int *argc, char ***argv, int *control, bool numbers);

int addattr_l(struct nlmsghdr *request, int max, int type, const void *data,
	      int length);
struct rtattr *addattr_nest(struct nlmsghdr *request, int max, int type);
int addattr_nest_end(struct nlmsghdr *request, struct rtattr *nest);
int parse_rtattr_flags(struct rtattr *attrs[], int max, struct rtattr *first,
		       int length, unsigned short flags);

#endif
