//! Everything that is no brief and no hook becomes the Python CLI.

use crate::support::{copied, script};
use crate::world::{text, World, BINARY};

fn echoing() -> World {
    World::new().with_script("printf '<%s>' \"$@\"; exit 7")
}

#[test]
fn other_commands_become_the_python_cli_with_their_arguments() {
    let world = echoing();
    for args in [
        &["session", "list", "--json"][..],
        &["--version"],
        &[],
        &["consciousness", "status"],
        &["hooks", "generate-config", "--force"],
        &["hooks", "--help"],
        &["hooks", "post-tool", "--help"],
        &["consciousness", "brief", "--help"],
        &["owner", "a b", "", "\u{e9}*$x"],
    ] {
        let output = world.run(args, b"");
        let expected: String =
            ["-P", "-m", "context_graph.cli"].iter().chain(args).map(|arg| format!("<{arg}>")).collect();
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(7), expected), "{args:?}");
    }
    assert!(text(&world.run(&["hooks"], b"").stdout).ends_with("<hooks><--help>"));
}

#[test]
#[cfg(target_os = "linux")] // which signals are ignored is told by /proc
fn standard_streams_and_environment_reach_the_python_cli() {
    let world = World::new().with_script("cat; echo $HOME >&2; grep SigIgn /proc/self/status | cut -f2");
    let output = world.run(&["session", "import"], b"from stdin\n");
    let said = text(&output.stdout);
    let ignored = u64::from_str_radix(said.strip_prefix("from stdin\n").unwrap().trim(), 16).unwrap();
    assert_eq!(ignored & (1 << 12 | 1 << 24), 0, "SIGPIPE and SIGXFSZ are as a program expects them");
    assert_eq!(text(&output.stderr).trim(), world.dir.join("home").display().to_string());
}

/// The script beside the launcher's real file goes before PATH; a launcher reached by a link finds its real folder.
#[test]
fn the_script_beside_the_launcher_is_found_through_a_link() {
    let world = World::new().without("CONTEXT_GRAPH_PYTHON");
    let bin = world.dir.join("bin");
    std::fs::create_dir(&bin).unwrap();
    copied(std::path::Path::new(BINARY), &bin.join("context-graph-cli"));
    std::os::unix::fs::symlink(bin.join("context-graph-cli"), world.dir.join("link")).unwrap();
    script(&bin.join("context-graph-py"), "echo sibling \"$@\"");
    let output = world.command(world.dir.join("link").to_str().unwrap(), &["session", "list"]).output().unwrap();
    assert_eq!(text(&output.stdout), "sibling session list\n");
}

#[test]
fn the_script_on_path_is_found_and_relative_folders_are_not_searched() {
    let world = World::new().without("CONTEXT_GRAPH_PYTHON");
    script(&world.project().join("context-graph-py"), "echo planted");
    let world = world.with("PATH", ".::/usr/bin");
    let output = world.run(&["session", "list"], b"");
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), String::new()));
    assert!(text(&output.stderr).contains("context-graph-py was not found; looked at "), "{}", text(&output.stderr));
    let project = world.project().display().to_string();
    let output = world.with("PATH", &format!("/usr/bin:{project}")).run(&["session", "list"], b"");
    assert_eq!(text(&output.stdout), "planted\n");
}

#[test]
fn a_relative_python_is_meant_from_the_working_folder() {
    let world = World::new();
    std::fs::create_dir(world.project().join("sub")).unwrap();
    let report = world.dir.join("report");
    script(&world.project().join("sub/python"), &format!("echo \"$@\" end > {}; echo end >> {0}", report.display()));
    let world = world.with("CONTEXT_GRAPH_PYTHON", "sub/python");
    assert_eq!(world.run(&["hooks", "stop", "--session-id", "s"], b"").status.code(), Some(0));
    assert!(crate::world::finished(&report).contains("-m context_graph.owner --root"));
}

/// Both names are one program, and its version is the package's.
#[test]
fn the_short_name_is_the_same_program() {
    let world = World::new().with_brief();
    let output = world.command(env!("CARGO_BIN_EXE_context-graph"), &["consciousness", "brief"]).output().unwrap();
    assert_eq!(text(&output.stdout), "[C:CON r=0.88 IC=0.91]\n");
    let project = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/pyproject.toml")).unwrap();
    assert!(project.contains(concat!("\nversion = \"", env!("CARGO_PKG_VERSION"), "\"\n")));
}
