//! A data root, a project and an environment of their own; a fake owner; what the launcher leaves behind.

use crate::support::TempDir;
use launcher::hash::{crc32, fnv1a64};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{channel, Receiver};
use std::time::{Duration, Instant};

/// The program under test.
pub const BINARY: &str = env!("CARGO_BIN_EXE_context-graph-cli");
/// A program that ends at once.
pub const TRUE: &str = if cfg!(target_os = "macos") { "/usr/bin/true" } else { "/bin/true" };
pub const SESSION: &str = "0ae1c2d3-1111-4222-8333-444455556666";
/// How long any wait may take before a test gives up.
pub const PATIENCE: Duration = Duration::from_secs(5);

pub struct World {
    pub dir: TempDir,
    pub env: Vec<(String, String)>,
}

impl World {
    pub fn new() -> World {
        let dir = TempDir::new();
        std::fs::create_dir_all(dir.join("project/.git")).unwrap();
        std::fs::create_dir_all(dir.join("home")).unwrap();
        // The owner of this world is `true`: started, and gone at once.
        let env = [
            ("HOME", dir.join("home").display().to_string()),
            ("CONTEXT_GRAPH_HOME", dir.join("root").display().to_string()),
            ("CONTEXT_GRAPH_PYTHON", TRUE.to_owned()),
            ("PATH", "/usr/bin:/bin".to_owned()),
        ];
        World { env: env.map(|(name, value)| (name.to_owned(), value)).to_vec(), dir }
    }

    pub fn with(mut self, name: &str, value: &str) -> World {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn without(mut self, name: &str) -> World {
        self.env.retain(|(known, _)| known != name);
        self
    }

    pub fn project(&self) -> PathBuf {
        self.dir.join("project")
    }

    pub fn root(&self) -> PathBuf {
        self.dir.join("root")
    }

    pub fn store(&self) -> PathBuf {
        let top = self.project().display().to_string();
        self.root().join(format!("stores/project-{:016x}", fnv1a64(top.as_bytes())))
    }

    pub fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.project()).env_clear().envs(self.env.iter().cloned());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the launcher with `stdin` to its end.
    pub fn run(&self, args: &[&str], stdin: &[u8]) -> Output {
        let mut child = self.command(BINARY, args).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let bytes = stdin.to_vec();
        // A launcher that does not read its stdin leaves the writer with EPIPE, which is as it should be.
        let writer = std::thread::spawn(move || drop(pipe.write_all(&bytes)));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        output
    }

    /// The golden brief cache as this world's store.
    pub fn with_brief(self) -> World {
        std::fs::create_dir_all(self.store()).unwrap();
        std::fs::write(self.store().join("brief.bin"), crate::support::golden("brief_v2.bin")).unwrap();
        self
    }

    /// An executable script standing in for Python; what it runs is `body`.
    pub fn with_script(self, body: &str) -> World {
        let path = self.dir.join("python");
        crate::support::script(&path, body);
        let path = path.display().to_string();
        self.with("CONTEXT_GRAPH_PYTHON", &path)
    }

    /// The segments of the store's event log, oldest first.
    pub fn segments(&self) -> Vec<PathBuf> {
        let Ok(folder) = std::fs::read_dir(self.store().join("events")) else { return Vec::new() };
        let mut paths: Vec<PathBuf> = folder.map(|file| file.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|end| end == "log"));
        paths.sort();
        paths
    }

    /// Id and JSON text of each record in the store's event log, in order; panics at a damaged line.
    pub fn logged(&self) -> Vec<String> {
        self.segments().iter().flat_map(|path| records(&std::fs::read(path).unwrap())).collect()
    }

    pub fn owner(&self, serve: impl FnMut(UnixStream) + Send + 'static) {
        self.owner_at(&self.root().join("run/owner.sock"), serve);
    }

    pub fn owner_at(&self, socket: &std::path::Path, mut serve: impl FnMut(UnixStream) + Send + 'static) {
        std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
        let listener = UnixListener::bind(socket).unwrap();
        // The thread ends with the test's process; it waits in accept and holds nothing that matters.
        std::thread::spawn(move || listener.incoming().for_each(|stream| serve(stream.unwrap())));
    }

    /// An owner that listens once it has been started, and answers each request with `response`.
    pub fn coming_up(self, response: Vec<u8>) -> World {
        let started = self.dir.join("started");
        let world = self.with_script(&format!("touch {}; exec sleep 2", started.display()));
        let socket = world.root().join("run/owner.sock");
        std::thread::spawn(move || {
            eventually("the owner's start", || started.exists().then_some(()));
            let listener = UnixListener::bind(socket).unwrap();
            for mut stream in listener.incoming().flatten() {
                if read_request(&mut stream).is_some() {
                    let _ = stream.write_all(&response);
                }
            }
        });
        world
    }

    /// An owner that answers each request with `response` and hands the requests' fields to the test.
    pub fn answering(&self, response: Vec<u8>) -> Receiver<Fields> {
        let (sender, receiver) = channel();
        self.owner(move |mut stream| {
            if let Some(fields) = read_request(&mut stream) {
                let _ = sender.send(fields);
                let _ = stream.write_all(&response);
            }
        });
        receiver
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the launcher writes UTF-8")
}

/// Splits a segment into its records, checks each length and checksum, and leaves id and JSON of them.
pub fn records(file: &[u8]) -> Vec<String> {
    let lines = file.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let (head, rest) = (text(&line[..21]), &line[21..]);
            let whole = format!("E1 {:08x} {:08x} ", crc32(rest), rest.len());
            assert_eq!(head, whole, "a damaged line: {}", String::from_utf8_lossy(line));
            text(rest)
        })
        .collect()
}

/// The fields of one request by their tags.
pub type Fields = std::collections::HashMap<u8, Vec<u8>>;

/// Reads one request frame; None if the peer hangs up before its end.
pub fn read_request(stream: &mut UnixStream) -> Option<Fields> {
    let mut header = [0u8; 8];
    stream.read_exact(&mut header).ok()?;
    assert_eq!(&header[..4], b"CGQ1");
    let mut payload = vec![0; u32::from_le_bytes(header[4..].try_into().unwrap()) as usize];
    stream.read_exact(&mut payload).ok()?;
    let (mut fields, mut rest) = (Fields::new(), &payload[..]);
    while !rest.is_empty() {
        let len = u32::from_le_bytes(rest[1..5].try_into().unwrap()) as usize;
        assert!(fields.insert(rest[0], rest[5..5 + len].to_vec()).is_none(), "tag {} twice", rest[0]);
        rest = &rest[5 + len..];
    }
    Some(fields)
}

pub fn response(exit_code: u8, flags: u8, stdout: &[u8], stderr: &[u8]) -> Vec<u8> {
    let size = |part: &[u8]| (part.len() as u32).to_le_bytes();
    let payload = [&[exit_code, flags, 0, 0][..], &size(stdout), stdout, &size(stderr), stderr].concat();
    [b"CGR1", &size(&payload)[..], &payload].concat()
}

/// Asks until `found` gives something; panics after PATIENCE.
pub fn eventually<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let give_up = Instant::now() + PATIENCE;
    loop {
        if let Some(value) = found() {
            return value;
        }
        assert!(Instant::now() < give_up, "{what} did not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The text of a file once it ends in a line `end`.
pub fn finished(path: &std::path::Path) -> String {
    eventually(&path.display().to_string(), || {
        std::fs::read_to_string(path).ok().and_then(|text| text.strip_suffix("end\n").map(str::to_owned))
    })
}
