"""The golden tables of paths, and how such tables are written; see make.py.

`{T}` is a fresh temporary folder below /tmp (canonical) that the reader of the table makes. `setup`
lists, separated by spaces, what to make in it: `d:PATH` a folder with its parents, `f:PATH=CONTENT` a
file with its parents, `l:PATH=TARGET` a link. `env` is the whole environment of the call, `cwd` its
working folder; both are relative to {T} where they don't begin with `/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

__all__ = ["TABLES", "fnv1a64", "quoted", "table"]


def quoted(raw: bytes, also: str = "") -> str:
    """``raw`` as a table shows it."""
    keep = {byte for byte in range(0x20, 0x7F) if chr(byte) not in "%" + also}
    return "".join(chr(byte) if byte in keep else f"%{byte:02X}" for byte in raw)


def table(columns: str, rows: Iterable[Iterable[str]]) -> bytes:
    """A tab-separated table whose first line, behind a `#`, names the columns."""
    lines = ["#" + "\t".join(columns.split())]
    lines += ["\t".join(cell or "-" for cell in row) for row in rows]
    return ("\n".join(lines) + "\n").encode()


def fnv1a64(data: bytes) -> int:
    """64-bit FNV-1a."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return value


def store_keys() -> bytes:
    """Top folder of a project -> name of its store's folder."""
    tops = [
        b"/home/u/proj",
        b"/",
        b"/home/u/My Project (2)",
        b"/srv/" + b"long-" * 20,
        "/home/u/projé".encode(),
        b"/home/u/raw\xff",
        b"/home/u/.dotted",
    ]
    rows = []
    for top in tops:
        last = top.rsplit(b"/", 1)[1]
        allowed = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
        slug = "".join(chr(byte) if byte in allowed else "_" for byte in last)[:40] or "root"
        rows.append((quoted(top), f"{slug}-{fnv1a64(top):016x}"))
    return table("top store", rows)


def sockets() -> bytes:
    """Data root and user id -> the owner's socket: 107 bytes are the most that can be bound."""
    rows = []
    for root in (
        b"/home/u/.local/share/context-graph",
        b"/" + b"r" * 91,
        b"/" + b"r" * 92,
        b"/" + b"\xff" * 120,
    ):
        path = root + b"/run/owner.sock"
        if len(path) > 107:
            path = f"/tmp/context-graph-1000/{fnv1a64(root):016x}.sock".encode()
        rows.append((quoted(root), "1000", quoted(path)))
    return table("root uid socket", rows)


def places() -> bytes:
    """Environment and folders -> data root, project folder, project top. `!` for a root that is refused."""
    back = "f:main/.git/worktrees/w/gitdir={T}/w/.git%0A"
    worktree = f"{back} d:main/src f:w/.git=gitdir:%20{{T}}/main/.git/worktrees/w%0A d:w/sub"
    one_sided = "d:main/.git/worktrees/w f:w/.git=gitdir:%20{T}/main/.git/worktrees/w%0A"
    claimed = f"{back} f:w/.git=x f:evil/.git=gitdir:%20{{T}}/main/.git/worktrees/w%0A"
    named = "f:main/.git/worktrees/w/gitdir=../../../../w/.git%0A"
    relative = f"{named} f:w/.git=gitdir:%20../main/.git/worktrees/w%0A"
    bare = "f:bare.git/worktrees/w/gitdir={T}/w/.git%0A f:w/.git=gitdir:%20{T}/bare.git/worktrees/w%0A"
    submodule = "d:top/.git/modules/m f:top/m/.git=gitdir:%20../.git/modules/m%0A"
    config = "[core]%0A%09bare%20=%20false%0A"
    separate = f"f:sep/config={config} d:sep/objects f:m/.git=gitdir:%20{{T}}/sep%0A d:m/src"
    separate_linked = (
        f"{separate} f:sep/worktrees/w/gitdir={{T}}/w/.git%0A f:w/.git=gitdir:%20{{T}}/sep/worktrees/w%0A"
    )
    no_git_dir = "d:sep f:m/.git=gitdir:%20{T}/sep%0A"
    to_bare = "f:sep/config=[core]%0Abare%20=%20true%0A d:sep/objects f:m/.git=gitdir:%20{T}/sep%0A"
    to_checkout = f"f:v/.git/config={config} d:v/.git/objects f:m/.git=gitdir:%20{{T}}/v/.git%0A"
    to_linked = f"{separate_linked} f:x/.git=gitdir:%20{{T}}/sep/worktrees/w%0A"
    owned = "[core]%0A%09worktree%20=%20../../../m%0A"
    module = f"f:top/.git/modules/m/config={owned} f:top/m/.git=gitdir:%20../.git/modules/m%0A"
    module_linked = (
        f"{module} f:top/.git/modules/m/worktrees/w/gitdir={{T}}/w/.git%0A"
        " f:w/.git=gitdir:%20{T}/top/.git/modules/m/worktrees/w%0A"
    )
    module_claimed = f"{module} f:evil/.git=gitdir:%20{{T}}/top/.git/modules/m%0A"
    nested = "d:outer/.git d:outer/inner/.git d:outer/inner/src"
    home = "HOME={T}/h"
    local = "{T}/h/.local/share/context-graph"
    rows = [
        ("home", "d:p", home, "p", local, "{T}/p", "{T}/p"),
        ("xdg", "d:p", home + " XDG_DATA_HOME=/x/y", "p", "/x/y/context-graph", "{T}/p", "{T}/p"),
        ("xdg-relative", "d:p", home + " XDG_DATA_HOME=x", "p", local, "{T}/p", "{T}/p"),
        (
            "named",
            "d:p",
            home + " CONTEXT_GRAPH_HOME=/c/./g// XDG_DATA_HOME=/x",
            "p",
            "/c/g",
            "{T}/p",
            "{T}/p",
        ),
        ("named-up", "d:p", "CONTEXT_GRAPH_HOME=/c/x/../g", "p", "/c/g", "{T}/p", "{T}/p"),
        ("named-empty", "d:p", home + " CONTEXT_GRAPH_HOME=", "p", local, "{T}/p", "{T}/p"),
        ("named-relative", "d:p", home + " CONTEXT_GRAPH_HOME=cg", "p", "!", "-", "-"),
        ("no-home", "d:p", "", "p", "!", "-", "-"),
        ("repository", "d:p/.git d:p/a/b", home, "p/a/b", local, "{T}/p/a/b", "{T}/p"),
        (
            "project-dir",
            "d:p/.git d:p/a d:q",
            home + " CLAUDE_PROJECT_DIR={T}/p/a",
            "q",
            local,
            "{T}/p/a",
            "{T}/p",
        ),
        ("project-gone", "d:q", home + " CLAUDE_PROJECT_DIR={T}/gone", "q", local, "{T}/q", "{T}/q"),
        ("project-file", "d:q f:x=1", home + " CLAUDE_PROJECT_DIR={T}/x", "q", local, "{T}/q", "{T}/q"),
        ("project-link", "d:p d:q l:p2=p", home + " CLAUDE_PROJECT_DIR={T}/p2", "q", local, "{T}/p", "{T}/p"),
        ("innermost", nested, home, "outer/inner/src", local, "{T}/outer/inner/src", "{T}/outer/inner"),
        ("worktree", worktree, home, "w/sub", local, "{T}/w/sub", "{T}/main"),
        ("worktree-main", worktree, home, "main/src", local, "{T}/main/src", "{T}/main"),
        ("worktree-relative", relative, home, "w", local, "{T}/w", "{T}/main"),
        ("worktree-of-bare", bare, home, "w", local, "{T}/w", "{T}/bare.git"),
        ("worktree-unknown-to-it", one_sided, home, "w", local, "{T}/w", "{T}/w"),
        ("worktree-of-another", claimed, home, "evil", local, "{T}/evil", "{T}/evil"),
        ("separate", separate, home, "m/src", local, "{T}/m/src", "{T}/sep"),
        ("separate-worktree", separate_linked, home, "w", local, "{T}/w", "{T}/sep"),
        ("separate-main-of-worktree", separate_linked, home, "m", local, "{T}/m", "{T}/sep"),
        ("separate-no-git-dir", no_git_dir, home, "m", local, "{T}/m", "{T}/m"),
        ("git-file-names-bare", to_bare, home, "m", local, "{T}/m", "{T}/m"),
        ("git-file-names-a-checkout", to_checkout, home, "m", local, "{T}/m", "{T}/m"),
        ("git-file-names-a-worktrees", to_linked, home, "x", local, "{T}/x", "{T}/x"),
        ("submodule-with-worktree", module_linked, home, "top/m", local, "{T}/top/m", "{T}/top/m"),
        ("worktree-of-submodule", module_linked, home, "w", local, "{T}/w", "{T}/top/m"),
        ("git-file-names-a-submodules", module_claimed, home, "evil", local, "{T}/evil", "{T}/evil"),
        ("submodule", submodule, home, "top/m", local, "{T}/top/m", "{T}/top/m"),
        ("git-file-garbage", "f:p/.git=hello d:p/a", home, "p/a", local, "{T}/p/a", "{T}/p"),
        ("git-file-empty", "f:p/.git=", home, "p", local, "{T}/p", "{T}/p"),
    ]
    return table("name setup env cwd root project top", rows)


def db_paths() -> bytes:
    """A named store path -> where it leads, or words of the refusal."""
    home = "HOME={T}/h CONTEXT_GRAPH_HOME={T}/h/data/cg"
    made = "d:p d:h d:out f:p/file=1 l:p/link=../out l:p/dangling=../gone l:p/filelink=file d:p/real"
    links, asked = home + " CONTEXT_GRAPH_ALLOW_LINKS=1", home + " CONTEXT_GRAPH_ALLOWED_ROOTS="
    rows = [
        ("below-project", made, home, "p", "{T}/p/new/db", "ok", "{T}/p/new/db"),
        ("relative", made, home, "p", "./new//db/", "ok", "{T}/p/new/db"),
        ("below-home", made, home, "p", "{T}/h/x", "ok", "{T}/h/x"),
        ("below-tmp", made, home, "p", "/tmp/cg-golden-none/x", "ok", "/tmp/cg-golden-none/x"),
        ("real-folder", made, home, "p", "real", "ok", "{T}/p/real"),
        ("outside", made, home, "p", "/etc/context-graph-golden", "refused", "outside the allowed roots"),
        ("top", made, home, "p", "/", "refused", "outside the allowed roots"),
        ("root-itself", made, home, "p", "/tmp", "refused", "outside the allowed roots"),
        ("prefix-is-no-parent", made, home, "p", "/tmpx/db", "refused", "outside the allowed roots"),
        ("allowed", made, asked + "x:/nowhere/golden", "p", "/nowhere/golden/db", "ok", "/nowhere/golden/db"),
        ("top-allowed", made, asked + "/", "p", "/nowhere-golden/db", "ok", "/nowhere-golden/db"),
        ("dotdot", made, home, "p", "{T}/p/../p/db", "refused", "'..' component"),
        ("dotdot-relative", made, home, "p", "../h", "refused", "'..' component"),
        ("dots-in-names", made, home, "p", "a..b/...", "ok", "{T}/p/a..b/..."),
        ("link", made, home, "p", "link/db", "refused", "goes through the link"),
        ("link-itself", made, home, "p", "link", "refused", "goes through the link"),
        ("dangling", made, home, "p", "dangling", "refused", "goes through the link"),
        ("link-allowed", made, links, "p", "link/db", "ok", "{T}/p/link/db"),
        ("dangling-allowed", made, links, "p", "dangling", "ok", "{T}/p/dangling"),
        ("link-to-file-allowed", made, links, "p", "filelink", "refused", "which is no folder"),
        ("file", made, home, "p", "file", "refused", "which is no folder"),
        ("below-file", made, home, "p", "file/db", "refused", "which is no folder"),
        ("too-long", made, home, "p", "x/" * 2049, "refused", "longer than 4096 bytes"),
    ]  # fmt: skip
    return table("name setup env cwd path verdict result", rows)


TABLES: dict[str, Callable[[], bytes]] = {
    "store_keys.tsv": store_keys,
    "sockets.tsv": sockets,
    "paths.tsv": places,
    "dbpath.tsv": db_paths,
}
