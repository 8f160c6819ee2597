/** Files that take their place when they are whole, or not at all. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eager/trace/replacement.h"

TestSuite(replacement);

static char folder[] = "/tmp/cebus-replacement-XXXXXX", path[sizeof folder + 300];
static cebus_replacement file;

static void begin(const char *name)
{
    memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/%s", folder, name);
}

static void put(const char *name, const char *text)
{
    FILE *to = fopen(name, "w");
    fputs(text, to);
    fclose(to);
}

static bool holds(const char *name, const char *text)
{
    char got[64] = "";
    FILE *from = fopen(name, "r");
    if (from == NULL)
        return false;
    bool same = fread(got, 1, sizeof got - 1, from) == strlen(text) && strcmp(got, text) == 0;
    fclose(from);
    return same;
}

/** Files in the folder, all of which go with it. */
static int end(void)
{
    int n = 0;
    DIR *entries = opendir(folder);
    for (struct dirent *e = readdir(entries); e != NULL; e = readdir(entries)) {
        if (e->d_name[0] == '.')
            continue;
        n++;
        cr_expect_eq(unlinkat(dirfd(entries), e->d_name, e->d_type == DT_DIR ? AT_REMOVEDIR : 0),
                     0);
    }
    closedir(entries);
    cr_expect_eq(rmdir(folder), 0);
    return n;
}

static void write_new(void)
{
    cr_expect_eq(write(file.fd, "new", 3), 3);
}

Test(replacement, the_old_file_is_there_until_the_new_one_is_whole)
{
    begin("file");
    put(path, "old");
    chmod(path, 0604);
    cr_assert_eq(cebus_replacement_open(&file, path), 0);
    write_new();
    cr_expect(holds(path, "old"));
    cr_expect_eq(cebus_replacement_close(&file, true), 0);
    cr_expect(holds(path, "new"));
    struct stat now;
    stat(path, &now);
    cr_expect_eq(now.st_mode & 07777, 0604);
    cr_expect_eq(end(), 1);
}

Test(replacement, one_that_is_not_good_leaves_what_was_there)
{
    begin("file");
    cr_assert_eq(cebus_replacement_open(&file, path), 0);
    cr_expect_eq(cebus_replacement_close(&file, false), 0);
    cr_expect_neq(access(path, F_OK), 0);
    put(path, "old");
    cr_assert_eq(cebus_replacement_open(&file, path), 0);
    write_new();
    cr_expect_eq(cebus_replacement_close(&file, false), 0);
    cr_expect(holds(path, "old"));
    cr_expect_eq(end(), 1);
}

Test(replacement, closing_that_fails_leaves_what_was_there)
{
    begin("file");
    put(path, "old");
    cr_assert_eq(cebus_replacement_open(&file, path), 0);
    close(file.fd);
    cr_expect_eq(cebus_replacement_close(&file, true), EBADF);
    cr_expect(holds(path, "old"));
    cr_expect_eq(end(), 1);
}

Test(replacement, a_place_that_cannot_be_taken_is_told)
{
    begin("file");
    cr_assert_eq(cebus_replacement_open(&file, path), 0);
    mkdir(path, 0700);
    cr_expect_eq(cebus_replacement_close(&file, true), EISDIR);
    cr_expect_eq(end(), 1, "nothing is left beside");
}

Test(replacement, links_stay_links)
{
    char link[sizeof path];
    begin("file");
    snprintf(link, sizeof link, "%s/link", folder);
    put(path, "old");
    cr_assert_eq(symlink("file", link), 0);
    cr_assert_eq(cebus_replacement_open(&file, link), 0);
    write_new();
    cr_expect_eq(cebus_replacement_close(&file, true), 0);
    cr_expect(holds(path, "new"));
    struct stat now;
    lstat(link, &now);
    cr_expect(S_ISLNK(now.st_mode));
    cr_expect_eq(end(), 2);
}

Test(replacement, two_of_a_place_do_not_share_a_name)
{
    static cebus_replacement other;
    begin("file");
    cr_assert_eq(cebus_replacement_open(&file, path), 0);
    cr_assert_eq(cebus_replacement_open(&other, path), 0);
    write_new();
    cr_expect_eq(cebus_replacement_close(&file, true), 0);
    cr_expect_eq(cebus_replacement_close(&other, false), 0);
    cr_expect(holds(path, "new"));
    cr_expect_eq(end(), 1);
}

/** The name leaves no room for another one beside it. */
Test(replacement, what_nothing_fits_beside_is_written_directly)
{
    char name[256];
    memset(name, 'n', 255);
    name[255] = '\0';
    begin(name);
    cr_assert_eq(cebus_replacement_open(&file, path), 0);
    cr_expect_not(file.beside);
    write_new();
    cr_expect_eq(cebus_replacement_close(&file, true), 0);
    cr_expect(holds(path, "new"));
    cr_expect_eq(end(), 1);
}

Test(replacement, what_cannot_be_made_is_told)
{
    char far[PATH_MAX + 1];
    begin("absent/file");
    cr_expect_eq(cebus_replacement_open(&file, path), ENOENT);
    cr_expect_eq(cebus_replacement_open(&file, folder), EISDIR);
    memset(far, 'n', PATH_MAX);
    far[PATH_MAX] = '\0';
    cr_expect_eq(cebus_replacement_open(&file, far), ENAMETOOLONG);
    cr_expect_eq(end(), 0);
}
