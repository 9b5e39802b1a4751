// SPDX-License-Identifier: GPL-2.0
/*
 * Connections that are followed, as a file: a line that names its form and the
 * time, a line for each connection, and one with their number, which reveals a file
 * that was cut short.
 */
#include "save.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <linux/pep.h>

#include "file.h"
#include "genl.h"
#include "lines.h"
#include "out.h"
#include "state.h"

/* First words of the lines. */
#define HEAD_WORD "pep-flows"
#define CONN_WORD "conn"
#define END_WORD "end"

/* The form of the file, the only one that is written and read. */
#define FORM 1

/* Name of standard input in messages. */
#define STDIN_NAME "standard input"

/* Mode of a new file: addresses of subscribers are private. */
#define MODE 0600

/* The time of the day, ms since 1970. */
static __u64 now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (__u64)ts.tv_sec * 1000 + (__u64)ts.tv_nsec / 1000000;
}

/**
 * struct writing - a file that is being written
 * @file: the file
 * @n: connections in it by now
 */
struct writing {
	FILE *file;
	unsigned long long n;
};

static int write_conn(const struct nlmsghdr *nlh, void *data)
{
	struct writing *writing = data;

	fputs(CONN_WORD, writing->file);
	pep_state_write(writing->file, nlh);
	writing->n++;
	return MNL_CB_OK;
}

/* Write all connections that can be exported. */
static enum pep_exit write_all(FILE *file)
{
	struct writing writing = { .file = file };
	enum pep_exit err;

	fprintf(file, HEAD_WORD " %d time-ms %llu\n", FORM,
		(unsigned long long)now());
	err = pep_genl_ask(PEP_CMD_FLOW_EXPORT, NLM_F_DUMP, write_conn,
			   &writing);
	if (!err)
		fprintf(file, END_WORD " %llu\n", writing.n);
	return err;
}

/* Take FILE off the command line, the only word. */
static enum pep_exit take_path(struct pep_args *args, const char **path)
{
	*path = pep_args_left(args) ? *args->argv : NULL;
	if (!*path)
		return pep_err_usage("FILE: missing");
	args->argv++;
	args->argc--;
	return pep_args_end(args);
}

/**
 * pep_save() - write the connections that are followed and not split to a file
 * @args: its name, "-" for standard output
 *
 * Return: PEP_OK, or another one after a message, with an existing file unchanged.
 */
enum pep_exit pep_save(struct pep_args *args)
{
	const char *path;
	enum pep_exit err = take_path(args, &path);

	if (err)
		return err;
	return strcmp(path, "-") ? pep_file_write(path, MODE, write_all) :
				   write_all(stdout);
}

/**
 * struct line - a connection that is to be restored
 * @number: number of its line
 * @len: length of the request, bytes
 * @request: the request
 */
struct line {
	unsigned int number;
	__u32 len;
	char request[];
};

/**
 * struct reading - a file that is being restored
 * @genl: socket to the module
 * @head: its first line has been read
 * @complete: its last line has been read
 * @elapsed: time since it was written, ms
 * @lines: its connections
 * @n: how many there are
 * @room: how many fit in @lines
 */
struct reading {
	struct pep_genl genl;
	bool head;
	bool complete;
	__u64 elapsed;
	struct line **lines;
	size_t n;
	size_t room;
};

/* Read a word that is a decimal number. */
static bool read_number(const char *word, unsigned long long *number)
{
	char *end;

	errno = 0;
	*number = strtoull(word, &end, 10);
	return *word >= '0' && *word <= '9' && !*end && !errno;
}

/* Read "pep-flows 1 time-ms TIME". */
static enum pep_exit read_head(struct reading *reading,
			       const struct pep_args *args)
{
	unsigned long long form, time;
	__u64 passed = now();

	if (args->argc < 2 || strcmp(args->argv[0], HEAD_WORD) ||
	    !read_number(args->argv[1], &form))
		return pep_err_usage("this is no file of flow save: \""
				     HEAD_WORD " %d\" is not its first line",
				     FORM);
	if (form != FORM)
		return pep_err_usage(HEAD_WORD ": form %llu, this pepadm knows %d",
				     form, FORM);
	if (args->argc != 4 || strcmp(args->argv[2], "time-ms") ||
	    !read_number(args->argv[3], &time))
		return pep_err_usage(HEAD_WORD " %d: \"time-ms\" and a number do not follow",
				     FORM);
	/* A clock that has gone back makes no connection younger. */
	passed = passed > time ? passed - time : 0;
	reading->elapsed = passed < UINT32_MAX ? passed : UINT32_MAX;
	reading->head = true;
	return PEP_OK;
}

/* Read "end NUMBER". */
static enum pep_exit read_end(struct reading *reading,
			      const struct pep_args *args)
{
	unsigned long long n;

	if (args->argc != 2 || !read_number(args->argv[1], &n))
		return pep_err_usage(END_WORD ": one number does not follow");
	if (n != reading->n)
		return pep_err_usage(END_WORD ": %llu connections, but there are %zu",
				     n, reading->n);
	reading->complete = true;
	return PEP_OK;
}

/* Keep a request until the whole file has been found valid. */
static enum pep_exit keep(struct reading *reading, unsigned int number,
			  const struct pep_nl_request *req)
{
	__u32 len = req->nlh->nlmsg_len;
	struct line **lines = reading->lines;
	struct line *line = NULL;
	size_t room;

	if (reading->n == reading->room) {
		room = 2 * reading->room + 64;
		lines = realloc(lines, room * sizeof(*lines));
		if (!lines)
			return pep_err_failed("%s", strerror(errno));
		reading->lines = lines;
		reading->room = room;
	}
	line = malloc(sizeof(*line) + len);
	if (!line)
		return pep_err_failed("%s", strerror(errno));
	line->number = number;
	line->len = len;
	memcpy(line->request, req->nlh, len);
	lines[reading->n++] = line;
	return PEP_OK;
}

static enum pep_exit read_line(struct pep_args *args, unsigned int number,
			       void *data)
{
	struct reading *reading = data;
	struct pep_nl_request req;
	enum pep_exit err;
	const char *word;

	if (!reading->head)
		return read_head(reading, args);
	word = args->argv[0];
	if (reading->complete)
		return pep_err_usage("\"%.64s\": there is a line behind \""
				     END_WORD "\"", word);
	if (!strcmp(word, END_WORD))
		return read_end(reading, args);
	if (strcmp(word, CONN_WORD))
		return pep_err_usage("\"%.64s\" is not one of: " CONN_WORD ", "
				     END_WORD, word);
	args->argv++;
	args->argc--;
	pep_genl_request(&reading->genl, &req, PEP_CMD_FLOW_IMPORT, 0);
	err = pep_state_read(args, reading->elapsed, &req);
	return err ? err : keep(reading, number, &req);
}

/**
 * struct counts - number of connections by result
 * @restored: they are followed
 * @known: the table had them already
 * @expired: silent for too long by now
 * @refused: the kernel refused them for another reason
 */
struct counts {
	__u64 restored;
	__u64 known;
	__u64 expired;
	__u64 refused;
};

/* Does an error concern one connection, so that another one may be taken? */
static bool its_own(int error)
{
	return error == EINVAL || error == ENOSPC || error == ENOMEM;
}

/* Make the module follow one connection. */
static enum pep_exit restore_line(struct reading *reading, const char *name,
				  const struct line *line,
				  struct counts *counts)
{
	struct pep_nl *nl = &reading->genl.nl;
	struct pep_nl_request req = { 0 };

	memcpy(req.buf, line->request, line->len);
	req.nlh = req.buf;
	if (!pep_nl_talk(nl, &req, NULL, NULL)) {
		counts->restored++;
		return PEP_OK;
	}
	if (nl->error == EEXIST || nl->error == ETIME) {
		*(nl->error == EEXIST ? &counts->known : &counts->expired) += 1;
		return PEP_OK;
	}
	/* One message is enough, unless option -s requests all. */
	if (!counts->refused++ || pep_out_statistic("") || !its_own(nl->error)) {
		pep_err_place(name, line->number);
		pep_nl_failed(nl, NULL);
		pep_err_place(NULL, 0);
	}
	return its_own(nl->error) ? PEP_OK : PEP_FAILED;
}

/* Make the module follow all connections of a valid file. */
static enum pep_exit restore_all(struct reading *reading, const char *name)
{
	struct counts counts = { 0 };
	enum pep_exit err = PEP_OK;

	for (size_t i = 0; i < reading->n && !err; i++)
		err = restore_line(reading, name, reading->lines[i], &counts);
	pep_out_open_object(NULL);
	pep_out_uint("restored", "restored", counts.restored);
	pep_out_uint("known", "known", counts.known);
	pep_out_uint("expired", "expired", counts.expired);
	pep_out_uint("refused", "refused", counts.refused);
	pep_out_close_object();
	pep_out_newline("");
	return counts.refused ? PEP_FAILED : err;
}

static void drop(struct reading *reading)
{
	while (reading->n)
		free(reading->lines[--reading->n]);
	free(reading->lines);
}

/* Read an open file, and restore its connections if all of it is valid. */
static enum pep_exit restore_file(FILE *file, const char *name)
{
	struct reading reading = { 0 };
	enum pep_exit err;

	err = pep_genl_open(&reading.genl);
	if (err)
		return err;
	err = pep_lines_read(file, name, read_line, &reading);
	if (!err && !reading.complete)
		err = pep_err_usage("%.256s: cut short, \"" END_WORD "\" is not its last line",
				    name);
	if (!err)
		err = restore_all(&reading, name);
	drop(&reading);
	pep_genl_close(&reading.genl);
	return err;
}

/**
 * pep_restore() - make the module follow the connections of a file
 * @args: its name, "-" for standard input
 *
 * Return: PEP_OK, PEP_USAGE after a message about the file with nothing changed,
 * or PEP_FAILED when a connection was refused that is neither followed already
 * nor over.
 */
enum pep_exit pep_restore(struct pep_args *args)
{
	const char *path;
	enum pep_exit err = take_path(args, &path);
	FILE *file;

	if (err)
		return err;
	file = pep_lines_open(path);
	if (!file)
		return PEP_FAILED;
	err = restore_file(file, file == stdin ? STDIN_NAME : path);
	pep_lines_close(file);
	return err;
}
